"""The shape of settings files: which fields each may hold, and what each field takes.

The parts are the configuration models themselves, with two differences. What cannot be written in a
file (a callable) is refused, and conditions between fields are left to the moment when all files
have been put together. An error keeps its place: the models' own constructor would make it a text.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal, Self
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    SecretStr,
    TypeAdapter,
    ValidationError,
    field_validator,
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
from ...state.config_model import ConfigModel
from .mistakes import is_key
from .options import check_options

__all__ = [
    "AgentFile",
    "AuthFile",
    "FileShape",
    "ModelRole",
    "Provider",
    "Routing",
    "SettingsFile",
]


class _Placed(BaseModel):
    """Validated in its place, so that an error says where."""

    __init__ = BaseModel.__init__


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


class FlushSection(_Placed, FlushTrigger):
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


class MemorySection(_Placed, MemoryConfig):
    """What outlives the thread, and when it is written and read."""

    model: str | None = None
    flush_trigger: Annotated[FlushSection, BeforeValidator(_one_word)] = FlushSection()
    consolidation_min_gap: Gap = Field(default=timedelta(minutes=30), ge=timedelta(0))
    redact: SkipJsonSchema[Annotated[None, BeforeValidator(_only_in_python)]] = None


class TruncateSection(_Placed, TruncateArgsConfig):
    """When long string arguments of older tool calls are cut short."""

    @model_validator(mode="after")
    def _shortens(self) -> Self:
        return self


class CompactionSection(_Placed, CompactionConfig):
    """When older messages are replaced by a summary, and what is kept."""

    model: str | None = None
    truncate_args: TruncateSection | None = None
    observation_masking_turns: int | None = Field(
        default=None,
        ge=1,
        description="Results of this many most recent steps stay visible: masking.turns.",
    )


class MaskingSection(_Placed, MaskingConfig):
    """When older tool results are replaced by a placeholder."""


class EvictionSection(_Placed, ToolResultEvictionConfig):
    """When a huge tool result leaves the context for a file."""


class RollingSection(_Placed, RollingCompactionConfig):
    """Compaction on demand, or whenever the context reaches a share of the window."""

    model: str = "default"


class _ForTheClient(_Placed, ConfigModel):
    """What both a provider and a model may say about the client that is made for them.

    Attributes:
        timeout: Seconds to wait for the provider; None: as long as the client does by itself.
        max_retries: Attempts that the client repeats by itself; None: none where there is another
            provider to fall back to, else as many as the client does.
        options: Further arguments of the LangChain chat model, such as `{"top_p": 0.9}`.
    """

    timeout: float | None = Field(
        default=None, gt=0, le=86_400, description="Seconds to wait for the provider."
    )
    max_retries: int | None = Field(
        default=None, ge=0, le=100, description="Attempts that the client repeats by itself."
    )
    options: dict[str, JsonValue] = Field(
        default_factory=dict, description="Further arguments of the LangChain chat model."
    )

    @field_validator("options")
    @classmethod
    def _neither_address_nor_key(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        check_options(value)
        return value


class ModelRole(_ForTheClient):
    """A model in a role, or just its name as a text.

    Attributes:
        model: `"vendor/model"`, sent to the provider that `routing` names, or `"provider:model"`.
        provider: The provider, if not by `routing` or in `model`.
        temperature: Sampling temperature; None: the provider's.
        max_tokens: Bound on an answer in tokens; None: the provider's.
        context_window: The model's window in tokens; None: as LangChain knows the model.
    """

    model: str | None = Field(
        default=None, description='"vendor/model", or "provider:model" for a provider by name.'
    )
    provider: str | None = Field(default=None, description="A name among the providers.")
    temperature: float | None = Field(default=None, ge=0, le=10)
    max_tokens: int | None = Field(default=None, ge=1)
    context_window: int | None = Field(
        default=None, ge=1, description="The model's context window in tokens."
    )

    @field_validator("model")
    @classmethod
    def _model_is_named(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError('name a model, such as "openai:gpt-5-mini"')
        return None if value is None else value.strip()


Role = Annotated[
    ModelRole, BeforeValidator(lambda value: {"model": value} if isinstance(value, str) else value)
]


class Models(_Placed, ConfigModel):
    """Which model plays which role."""

    main: Role | None = Field(default=None, description="Talks; a role that is not set is its.")
    compact: Role | None = Field(default=None, description="Writes summaries.")


_URL = re.compile(r"https?://(?P<user>[^/?#]*@)?[^/?#@\s]+[^\s]*", re.IGNORECASE)


class Provider(_ForTheClient):
    """Where models are served.

    Attributes:
        type: `"openai"` for every endpoint that speaks its protocol; else a provider's name as
            `langchain.chat_models.init_chat_model` knows it.
        base_url: The endpoint; None: the provider's own.
        api_key: The key; None: what the client finds in the environment, unless a `base_url` is
            given.
    """

    type: str = Field(
        default="openai",
        pattern=r"^[a-z0-9_]+$",
        description='"openai" for compatible endpoints; else as init_chat_model names it.',
    )
    base_url: str | None = Field(default=None, description="The endpoint, such as https://…/v1.")
    api_key: SecretStr | None = Field(default=None, description="The key.")

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        found = _URL.fullmatch(value)
        if not found:
            raise ValueError("write an address such as https://openrouter.ai/api/v1")
        if found["user"] or "?" in value or "#" in value:
            raise ValueError("no user, password or query here: the key belongs in api_key")
        if is_key(unquote(value)):
            raise ValueError("a part of it looks like a key, which belongs in api_key")
        return value

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value() if value is not None else "-"
        if not key:
            raise ValueError('is empty; write any text, such as "none", if no key is needed')
        if not all("!" <= character <= "~" for character in key):
            raise ValueError("holds a space or a character that no HTTP header can hold")
        return value


class Routing(_Placed, ConfigModel):
    """Which provider is asked first, and which ones when it fails.

    Attributes:
        default: The provider of every model that does not name its own.
        fallback: Providers by name, asked for the same model, or `"provider:model"`.
    """

    default: str | None = Field(
        default=None, min_length=1, description="Provider of every model that names none."
    )
    fallback: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description='Providers by name, or "provider:model", in this order.'
    )


class FileShape(_Placed, ConfigModel):
    """A whole file."""


class _Parts(FileShape):
    memory: MemorySection | None = Field(default=None, description="Null turns it off.")
    compaction: CompactionSection | None = Field(default=None, description="Null turns it off.")
    masking: MaskingSection | None = Field(default=None, description="Null turns it off.")
    eviction: EvictionSection | None = Field(default=None, description="Null turns it off.")
    default_compaction: RollingSection | None = Field(
        default=None, description="Rolling compaction; null turns it off."
    )


class AgentFile(_Parts):
    """`agents/<name>/agent.json`: what is different for one agent."""

    model: Role | None = Field(default=None, description="The agent's own model.")


class AuthFile(FileShape):
    """`auth.json`: providers with their keys."""

    providers: dict[str, Provider] = Field(
        default_factory=dict, description="Where models are served, by names of your own."
    )
    routing: Routing | None = Field(default=None, description="Which provider is asked when.")
    models: Models | None = Field(default=None, description="Which model plays which role.")


class SettingsFile(_Parts):
    """`settings.json`: what holds for all agents."""

    models: Models | None = Field(default=None, description="Which model plays which role.")
    providers: dict[str, Provider] = Field(
        default_factory=dict, description="Where models are served, by names of your own."
    )
    routing: Routing | None = Field(default=None, description="Which provider is asked when.")
