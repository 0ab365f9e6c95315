"""How each part of the context is managed: frozen, validated configuration models.

Every field is checked at construction. An unknown field, a wrong range or a missing placeholder
raises `ConfigurationError`, naming the field, the value and what to do. Python spells fields in
snake_case; the camelCase names of configuration files are accepted as well.
"""

from __future__ import annotations

import re
from typing import Literal, Self

from langchain_core.language_models import BaseChatModel
from pydantic import AliasChoices, Field, InstanceOf, field_validator, model_validator

from .config_model import ConfigModel
from .memory_config import LONGEST, FlushTrigger, MemoryConfig
from .prompts import DEFAULT_ADDITION_PROMPT, DEFAULT_SUMMARY_PROMPT

__all__ = [
    "CompactionConfig",
    "FlushTrigger",
    "MaskingConfig",
    "MemoryConfig",
    "RollingCompactionConfig",
    "ToolResultEvictionConfig",
    "TruncateArgsConfig",
]

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?<![.])")
# Where memory lives, and names that some systems keep for devices.
_RESERVED = frozenset({"memory", "memory.md", "global", "con", "prn", "aux", "nul"})


class ToolResultEvictionConfig(ConfigModel):
    """When a huge tool result leaves the context for a file.

    Attributes:
        max_chars: A text longer than this many characters is evicted.
        max_window_share: So is one that takes more than this share of the context window, in
            tokens.
        preview_chars: Characters shown of its head, and again of its tail (at most a quarter each).
        exclude_tools: Results of these tools are never evicted.
        path: Folder in the workspace that the full texts go to.
        retention_days: Maintenance removes full texts older than this many days; None: never.
            Without long-term memory only `maintain_memory` does.
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
    retention_days: int | None = Field(default=None, ge=1, le=LONGEST.days)

    @field_validator("path")
    @classmethod
    def _path_stays_inside(cls, value: str) -> str:
        names = value.split("/")
        if not all(_FOLDER.fullmatch(name) for name in names) or names[0].lower() in _RESERVED:
            raise ValueError(
                "must be a folder of its own inside the workspace, such as 'large_tool_results'"
            )
        return value


class MaskingConfig(ConfigModel):
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

    turns: int = Field(
        default=10, ge=1, validation_alias=AliasChoices("turns", "observationMaskingTurns")
    )
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


class TruncateArgsConfig(ConfigModel):
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


class CompactionConfig(ConfigModel):
    """When older messages are replaced by a summary, and what is kept.

    Attributes:
        enabled: False turns automatic compaction and the recovery from overflow off.
        trigger_messages: Asked when this many messages follow the last cut (0: never by number).
        trigger_tokens: Asked when the conversation takes this many tokens; 0: all that the window
            leaves for the conversation.
        threshold: Asked when the whole request takes more than this share of the context window.
        keep_messages: Messages kept when `keep_tokens` is 0.
        payback: Asked also when holding the messages that would go has cost this many times what
            the compaction costs, at the prices of a provider's cache; 0: never for that. Not while
            the conversation takes less than a quarter of the window.
        keep_tokens: Tokens kept; -1: a twelfth of the conversation's budget, 1,000 to 8,000; 0:
            count messages instead. Never more than half of the budget.
        min_progress: Compaction is due only if it would remove at least this share of the
            conversation's tokens. Above the request limit any progress counts.
        flush_before_compact: Extract long-term facts from what is about to be summarised.
        summary_prompt: Prompt of the summariser. Must contain `{messages}`; `{summary}` is
            replaced by the previous summary, `{max_tokens}` by the bound on its length.
        addition_prompt: Prompt for what is to be added to the summary, with the same placeholders:
            a summary is added to until it is full, and only then written anew by `summary_prompt`,
            shorter. None, or a `summary_prompt` of your own without one: written anew every time;
            so it is where a compaction has instructions.
        model: Model that writes the summary; None: the agent's own.
        cached_prompt: Whether the agent's own model is asked at the end of the agent's own prompt,
            where the provider has just read that from its cache: a tenth of the price of reading
            the messages anew.
        max_summary_tokens: Bound on the summary's text, however often it is added to. In a small
            window an eighth of the conversation's budget, and never more than a quarter of the
            summariser's window.
        tokens_per_added: An addition is asked for with at most one token for so many that go; 128
            at least, a third of the bound at most.
        max_names_tokens: Bound on the identifiers that stand beside it, copied by code because the
            text does not mention them; -1: an eighth of the conversation's budget; 0: none.
        truncate_args: When long arguments of older calls are cut short; None: never.
        max_failures: After this many attempts in a row that came to nothing, compaction waits
            until the conversation has grown by a tenth.
    """

    enabled: bool = True
    trigger_messages: int = Field(default=50, ge=0)
    trigger_tokens: int = Field(default=0, ge=0)
    threshold: float = Field(default=0.85, ge=0.1, le=1.0)
    payback: float = Field(default=1.0, ge=0)
    keep_messages: int = Field(default=20, ge=1)
    keep_tokens: int = Field(default=-1, ge=-1)
    min_progress: float = Field(default=0.5, ge=0, le=1)
    flush_before_compact: bool = True
    summary_prompt: str = DEFAULT_SUMMARY_PROMPT
    addition_prompt: str | None = DEFAULT_ADDITION_PROMPT
    model: InstanceOf[BaseChatModel] | str | None = None
    cached_prompt: bool = True
    max_summary_tokens: int = Field(default=2_048, ge=64)
    tokens_per_added: int = Field(default=30, ge=1)
    max_names_tokens: int = Field(default=-1, ge=-1)
    truncate_args: TruncateArgsConfig | None = None
    max_failures: int = Field(default=3, ge=1)

    @field_validator("summary_prompt", "addition_prompt")
    @classmethod
    def _has_placeholder(cls, value: str | None) -> str | None:
        if value is not None and "{messages}" not in value:
            raise ValueError("must contain the placeholder {messages}")
        return value

    @property
    def adding(self) -> str | None:
        """The prompt for additions, or None if the summary is written anew every time."""
        own = self.summary_prompt != DEFAULT_SUMMARY_PROMPT
        ours = self.addition_prompt == DEFAULT_ADDITION_PROMPT
        return None if own and ours else self.addition_prompt


class RollingCompactionConfig(ConfigModel):
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
    model: InstanceOf[BaseChatModel] | str = "default"
    custom_instructions: str | None = None
