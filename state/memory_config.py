"""How long-term memory is written and read, as a configuration model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal, Self

from langchain_core.language_models import BaseChatModel
from pydantic import Field, InstanceOf, field_validator, model_validator

from .config_model import ConfigModel

__all__ = ["LONGEST", "FlushTrigger", "MemoryConfig"]

LONGEST = timedelta(days=36_500)
"""The longest time that a setting may name: a date so far back can still be computed."""


class FlushTrigger(ConfigModel):
    """When facts are extracted at the end of a call: `always()`, `never()` or `throttled(gap)`."""

    mode: Literal["always", "never", "throttled"] = "always"
    gap: timedelta = Field(default=timedelta(0), le=LONGEST)

    @model_validator(mode="after")
    def _gap_belongs_to_throttled(self) -> Self:
        if self.mode == "throttled" and self.gap <= timedelta(0):
            raise ValueError(
                "a throttled trigger needs a gap longer than nothing, such as "
                'timedelta(minutes=10); in a file {"mode": "throttled", "gap": "PT10M"}'
            )
        return self

    @classmethod
    def always(cls) -> FlushTrigger:
        """Extract after every call."""
        return cls(mode="always")

    @classmethod
    def never(cls) -> FlushTrigger:
        """Extract only before compaction and after an overflow."""
        return cls(mode="never")

    @classmethod
    def throttled(cls, gap: timedelta) -> FlushTrigger:
        """Extract after a call, at most once every `gap`; the first eligible call does."""
        return cls(mode="throttled", gap=gap)


class MemoryConfig(ConfigModel):
    """What outlives the thread, and when it is written and read.

    Attributes:
        enabled: False turns long-term memory off altogether.
        hooks: False: nothing is extracted or consolidated automatically; MEMORY.md is still shown.
        tools: False: the agent gets no memory tools and no thread tools, and no guidance on them.
        model: Model for extraction and consolidation; None: the agent's own.
        flush_prompt: System prompt of the extraction; None: `DEFAULT_FLUSH_PROMPT`.
        flush_trigger: When facts are extracted at the end of a call.
        consolidation_prompt: System prompt that merges ledgers into MEMORY.md; None:
            `DEFAULT_CONSOLIDATION_PROMPT`. Must contain exactly two `%d`: tokens, then characters.
        consolidation_max_tokens: Bound on MEMORY.md.
        consolidation_min_gap: Time between two consolidations; the first eligible call runs one.
        daily_file_retention_days: Age in days after which a merged ledger moves to the archive.
        max_lines: Lines of MEMORY.md after which `memory_save` moves the oldest dated entries to
            `archive-YYYY-MM.md`.
        max_reference_tokens: Tokens of memory shown to the model; the oldest entries are left out
            first.
        placement: Where memory is shown: in the `"reference"` message or in the `"system"` prompt.
        refresh: When it is read again: with every `"call"`, or once for the whole `"session"`.
        background: Whether extraction at the end of a call and maintenance run after the answer,
            on a worker thread; False: before the call returns.
        redact: Gets every text before it reaches the extraction model, the summariser, the ledger
            or MEMORY.md, and returns it without secrets; None: nothing is changed.
    """

    enabled: bool = True
    hooks: bool = True
    tools: bool = True
    model: InstanceOf[BaseChatModel] | str | None = None
    flush_prompt: str | None = None
    flush_trigger: FlushTrigger = Field(default_factory=FlushTrigger.always)
    consolidation_prompt: str | None = None
    consolidation_max_tokens: int = Field(default=4_000, ge=1)
    consolidation_min_gap: timedelta = Field(
        default=timedelta(minutes=30), ge=timedelta(0), le=LONGEST
    )
    daily_file_retention_days: int = Field(default=90, ge=1, le=LONGEST.days)
    max_lines: int = Field(default=500, ge=1)
    max_reference_tokens: int = Field(default=8_000, ge=1)
    placement: Literal["reference", "system"] = "reference"
    refresh: Literal["call", "session"] = "call"
    background: bool = True
    redact: Callable[[str], str] | None = None

    @field_validator("flush_prompt")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must say what to extract; leave it out for DEFAULT_FLUSH_PROMPT")
        return value

    @field_validator("consolidation_prompt")
    @classmethod
    def _has_two_numbers(cls, value: str | None) -> str | None:
        if value is not None and value.count("%d") != 2:
            raise ValueError("must contain exactly two %d: the bound in tokens, then in characters")
        return value
