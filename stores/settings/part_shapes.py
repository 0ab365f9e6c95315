"""What settings files may say of memory, compaction, masking, eviction: the configuration itself.

With two differences. What cannot be written in a file (a callable) is refused, and conditions
between fields are left to the moment when all files have been put together.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema, WithJsonSchema

from ...state.config import (
    CompactionConfig,
    FlushTrigger,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from .placed import Placed

__all__ = [
    "CompactionSection",
    "EvictionSection",
    "MaskingSection",
    "MemorySection",
    "RollingSection",
]


def _only_in_python(value: Any) -> None:
    if value is not None:
        raise ValueError("can only be given in Python: MemoryConfig(redact=…)")


_DURATION = TypeAdapter(timedelta)


def _duration(value: Any) -> Any:
    """Read a number as seconds, and a text such as PT10M or 00:10:00 as what it says."""
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text) else text
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return _DURATION.validate_python(value)
    except ValidationError:
        raise ValueError("give seconds, or a duration such as PT10M") from None


Gap = Annotated[
    timedelta,
    BeforeValidator(_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*\+?(\d|[Pp][\dTt])[^-]*$"},
            ]
        }
    ),
]


def _one_word(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


class FlushSection(Placed, FlushTrigger):
    """When facts are extracted at the end of a call: a mode, and with `throttled` a gap."""

    mode: Literal["always", "never", "throttled"] = Field(
        default="always", description="always, never or throttled."
    )
    gap: Gap = Field(
        default=timedelta(0),
        description="With throttled: the time between two extractions, in seconds or as PT10M.",
    )

    @model_validator(mode="after")
    def _gap_belongs_to_throttled(self) -> Self:
        return self


class MemorySection(Placed, MemoryConfig):
    """What outlives the thread, and when it is written and read."""

    model: str | None = None
    flush_trigger: Annotated[FlushSection, BeforeValidator(_one_word)] = FlushSection()
    consolidation_min_gap: Gap = Field(default=timedelta(minutes=30), ge=timedelta(0))
    redact: SkipJsonSchema[Annotated[None, BeforeValidator(_only_in_python)]] = None


class TruncateSection(Placed, TruncateArgsConfig):
    """When long string arguments of older tool calls are cut short."""

    @model_validator(mode="after")
    def _shortens(self) -> Self:
        return self


class CompactionSection(Placed, CompactionConfig):
    """When older messages are replaced by a summary, and what is kept."""

    model: str | None = None
    truncate_args: TruncateSection | None = None
    observation_masking_turns: int | None = Field(
        default=None,
        ge=1,
        description="Results of this many most recent steps stay visible: masking.turns.",
    )


class MaskingSection(Placed, MaskingConfig):
    """When older tool results are replaced by a placeholder."""


class EvictionSection(Placed, ToolResultEvictionConfig):
    """When a huge tool result leaves the context for a file."""


class RollingSection(Placed, RollingCompactionConfig):
    """Compaction on demand, or whenever the context reaches a share of the window."""

    model: str = "default"
