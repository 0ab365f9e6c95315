"""What settings files may say of models: roles, providers, and which is asked when."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import unquote

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    SecretStr,
    field_validator,
)

from ...state.config_model import ConfigModel
from .mistakes import is_key
from .options import check_options
from .placed import Placed

__all__ = [
    "ModelRole",
    "Models",
    "Provider",
    "Role",
    "Routing",
]


class _ForTheClient(Placed, ConfigModel):
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


class Models(Placed, ConfigModel):
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


class Routing(Placed, ConfigModel):
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
