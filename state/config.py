"""How each part of the context is managed: frozen, validated configuration models.

Every field is checked at construction. An unknown field, a wrong range or a missing placeholder
raises `ConfigurationError`, naming the field, the value and what to do. Python spells fields in
snake_case; the camelCase names of configuration files are accepted as well.
"""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from typing import Any, Literal, Self

from langchain_core.language_models import BaseChatModel
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from .errors import ConfigurationError
from .prompts import DEFAULT_SUMMARY_PROMPT

__all__ = [
    "CompactionConfig",
    "FlushTrigger",
    "MaskingConfig",
    "MemoryConfig",
    "RollingCompactionConfig",
    "ToolResultEvictionConfig",
    "TruncateArgsConfig",
]


class _Config(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        arbitrary_types_allowed=True,
        validate_default=True,
        protected_namespaces=(),
    )

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigurationError(_explained(type(self), error)) from None


def _explained(model: type[BaseModel], error: ValidationError) -> str:
    """Say for each mistake: which field, which value, what to do."""
    known = list(model.model_fields)
    lines = []
    for detail in error.errors(include_url=False):
        field = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            close = difflib.get_close_matches(field, known, n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(known)}"
            lines.append(f"{model.__name__}.{field}={detail['input']!r}: unknown field; {fix}")
        else:
            problem = detail["msg"].removeprefix("Value error, ")
            place = f".{field}={detail['input']!r}" if field else f"({detail['input']!r})"
            lines.append(f"{model.__name__}{place}: {problem}")
    return "\n".join(lines)


_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?<![.])")
# Where memory lives, and names that some systems keep for devices.
_RESERVED = frozenset({"memory", "memory.md", "global", "con", "prn", "aux", "nul"})


class ToolResultEvictionConfig(_Config):
    """When a huge tool result leaves the context for a file.

    Attributes:
        max_chars: A text longer than this many characters is evicted.
        max_window_share: So is one that takes more than this share of the context window, in
            tokens.
        preview_chars: Characters shown of its head, and again of its tail (at most a quarter each).
        exclude_tools: Results of these tools are never evicted.
        path: Folder in the workspace that the full texts go to.
        retention_days: Maintenance removes full texts older than this many days; None: never.
    """

    max_chars: int = Field(default=80_000, ge=1)
    max_window_share: float = Field(default=0.25, gt=0, le=1)
    preview_chars: int = Field(default=2_000, ge=0)
    exclude_tools: tuple[str, ...] = (
        "read_file",
        "memory_search",
        "memory_get",
        "memory_read",
        "thread_search",
        "thread_history",
    )
    path: str = Field(default="large_tool_results", min_length=1)
    retention_days: int | None = Field(default=None, ge=1)

    @field_validator("path")
    @classmethod
    def _path_stays_inside(cls, value: str) -> str:
        names = value.split("/")
        if not all(_FOLDER.fullmatch(name) for name in names) or names[0].lower() in _RESERVED:
            raise ValueError(
                "must be a folder of its own inside the workspace, such as 'large_tool_results'"
            )
        return value


class MaskingConfig(_Config):
    """When older tool results are replaced by a placeholder. The call itself stays.

    A result whose message carries `additional_kwargs={"pinned": True}` is never masked.

    Attributes:
        turns: Results of this many most recent steps stay visible.
        placeholder: What is shown instead of a masked result.
        batch: `"auto"` moves the boundary only when that pays (see `payback`); an integer n moves
            it n steps at a time; 1 moves it with every step.
        payback: With `"auto"`, the tokens freed must be at least this multiple of the tokens that
            the provider has to read again because its cached prefix ends at the first newly masked
            result.
        min_chars: A shorter result stays.
        exclude_tools: Results of these tools are never masked.
    """

    turns: int = Field(default=10, ge=1)
    placeholder: str = Field(default="[observation masked]", min_length=1)
    batch: Literal["auto"] | int = "auto"
    payback: float = Field(default=1.0, ge=0)
    min_chars: int = Field(default=0, ge=0)
    exclude_tools: tuple[str, ...] = ()

    @field_validator("batch")
    @classmethod
    def _batch_is_positive(cls, value: Literal["auto"] | int) -> Literal["auto"] | int:
        if value != "auto" and value < 1:
            raise ValueError('must be "auto" or a number of steps, 1 or more')
        return value


class TruncateArgsConfig(_Config):
    """When long string arguments of older tool calls are cut short. No model is asked.

    Attributes:
        max_arg_length: A string argument (nested ones too) longer than this many characters is cut.
        keep_chars: Characters kept of its beginning.
        truncation_text: What stands in place of the rest.
        trigger_messages: Asked when this many messages follow the last cut (0: never by number).
        trigger_tokens: Asked when the request takes this many tokens (0: never by tokens).
        keep_messages: Calls in this many newest messages stay whole.
    """

    max_arg_length: int = Field(default=2_000, ge=1)
    keep_chars: int = Field(default=20, ge=0)
    truncation_text: str = "... [truncated] ..."
    trigger_messages: int = Field(default=25, ge=0)
    trigger_tokens: int = Field(default=40_000, ge=0)
    keep_messages: int = Field(default=20, ge=1)

    @model_validator(mode="after")
    def _shortens(self) -> Self:
        if self.keep_chars + len(self.truncation_text) >= self.max_arg_length:
            raise ValueError("keep_chars and truncation_text together must be under max_arg_length")
        return self


class CompactionConfig(_Config):
    """When older messages are replaced by a summary, and what is kept.

    Attributes:
        enabled: False turns automatic compaction and the recovery from overflow off.
        trigger_messages: Asked when this many messages follow the last cut (0: never by number).
        trigger_tokens: Asked when the conversation takes this many tokens; 0: all that the window
            leaves for the conversation.
        threshold: Asked when the whole request takes more than this share of the context window.
        keep_messages: Messages kept when `keep_tokens` is 0.
        keep_tokens: Tokens kept; -1: a quarter of the conversation's budget, 2,000 to 8,000; 0:
            count messages instead. Never more than half of the budget.
        min_progress: Compaction is due only if it would remove at least this share of the
            conversation's tokens. Above the request limit any progress counts.
        flush_before_compact: Extract long-term facts from what is about to be summarised.
        summary_prompt: Prompt of the summariser. Must contain `{messages}`; `{summary}` is
            replaced by the previous summary, `{max_tokens}` by the bound on its length.
        model: Model that writes the summary; None: the agent's own.
        max_summary_tokens: Bound on the summary, however often it is updated.
        truncate_args: When long arguments of older calls are cut short; None: never.
        max_failures: After this many attempts in a row that came to nothing, compaction waits
            until the conversation has grown by a tenth.
    """

    enabled: bool = True
    trigger_messages: int = Field(default=50, ge=0)
    trigger_tokens: int = Field(default=0, ge=0)
    threshold: float = Field(default=0.85, ge=0.1, le=1.0)
    keep_messages: int = Field(default=20, ge=1)
    keep_tokens: int = Field(default=-1, ge=-1)
    min_progress: float = Field(default=0.25, ge=0, le=1)
    flush_before_compact: bool = True
    summary_prompt: str = DEFAULT_SUMMARY_PROMPT
    model: BaseChatModel | str | None = None
    max_summary_tokens: int = Field(default=2_048, ge=64)
    truncate_args: TruncateArgsConfig | None = None
    max_failures: int = Field(default=3, ge=1)

    @field_validator("summary_prompt")
    @classmethod
    def _has_placeholder(cls, value: str) -> str:
        if "{messages}" not in value:
            raise ValueError("must contain the placeholder {messages}")
        return value


class RollingCompactionConfig(_Config):
    """Compaction on demand, or whenever the context reaches a share of the window.

    The values are fixed in a thread when it is created.

    Attributes:
        enabled: False turns rolling compaction off, manual and automatic.
        compaction_count: Percent of the context that one run summarises, from its beginning.
        auto_threshold: Percent of the window at which it runs by itself after an answer; None:
            never.
        model: Model that writes the summary; `"default"`: the thread's own.
        custom_instructions: Added to the summariser's prompt.
    """

    enabled: bool = True
    compaction_count: int = Field(default=50, ge=1, le=99)
    auto_threshold: int | None = Field(default=None, ge=1, le=99)
    model: BaseChatModel | str = "default"
    custom_instructions: str | None = None


class FlushTrigger(_Config):
    """When facts are extracted at the end of a call: `always()`, `never()` or `throttled(gap)`."""

    mode: Literal["always", "never", "throttled"] = "always"
    gap: timedelta = timedelta(0)

    @model_validator(mode="after")
    def _gap_belongs_to_throttled(self) -> Self:
        if self.mode == "throttled" and self.gap <= timedelta(0):
            raise ValueError("a throttled trigger needs a gap longer than nothing")
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


class MemoryConfig(_Config):
    """What outlives the thread, and when it is written and read.

    Attributes:
        enabled: False turns long-term memory off altogether.
        hooks: False: nothing is extracted or consolidated automatically; MEMORY.md is still shown.
        model: Model for extraction and consolidation; None: the agent's own.
        flush_prompt: System prompt of the extraction; None: `DEFAULT_FLUSH_PROMPT`.
        flush_trigger: When facts are extracted at the end of a call.
        consolidation_prompt: System prompt that merges ledgers into MEMORY.md; None:
            `DEFAULT_CONSOLIDATION_PROMPT`. Must contain exactly two `%d`: tokens, then characters.
        consolidation_max_tokens: Bound on MEMORY.md.
        consolidation_min_gap: Time between two consolidations; the first eligible call runs one.
        max_reference_tokens: Tokens of memory shown to the model; the oldest entries are left out
            first.
    """

    enabled: bool = True
    hooks: bool = True
    model: BaseChatModel | str | None = None
    flush_prompt: str | None = None
    flush_trigger: FlushTrigger = Field(default_factory=FlushTrigger.always)
    consolidation_prompt: str | None = None
    consolidation_max_tokens: int = Field(default=4_000, ge=1)
    consolidation_min_gap: timedelta = Field(default=timedelta(minutes=30), ge=timedelta(0))
    max_reference_tokens: int = Field(default=8_000, ge=1)

    @field_validator("consolidation_prompt")
    @classmethod
    def _has_two_numbers(cls, value: str | None) -> str | None:
        if value is not None and value.count("%d") != 2:
            raise ValueError("must contain exactly two %d: the bound in tokens, then in characters")
        return value
