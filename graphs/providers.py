"""From a route to a chat model: the client of a provider, made as the settings say."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from ..state.errors import ConfigurationError
from ..stores.settings.agent import AgentSettings
from ..stores.settings.routes import Route
from ..stores.settings.shapes import ModelRole, Provider
from .redaction import without_secrets

__all__ = ["model_on"]

_OPENAI = "api.openai.com"
# What a class calls its address, if not `base_url`.
_ADDRESS = {"azure_openai": "azure_endpoint"}


def model_on(
    route: Route, role: ModelRole, settings: AgentSettings, *, may_fall_back: bool
) -> BaseChatModel:
    """Make the chat model at the end of a route. Nothing is sent.

    Args:
        route: The provider, and the model's name there.
        role: What the settings say of the model.
        settings: What they say of the provider.
        may_fall_back: Whether another provider is asked when this one fails: then the client does
            not try again by itself, unless it was told to.

    Raises:
        ConfigurationError: The key or a package is missing, or the client refuses an option; names
            file and field.
    """
    entry = settings.router.providers.get(route.provider)
    kind = route.provider if entry is None else entry.type
    entry = entry or Provider(type=kind)
    options = _options(route, role, entry)
    if may_fall_back:
        options.setdefault("max_retries", 0)
    where = settings.where("providers", route.provider, "api_key")
    try:
        if kind == "openai":
            return _openai(route, entry, options, where)
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise ConfigurationError(
            f"{settings.where('providers', route.provider, 'type')}={kind!r}: install 'langchain' "
            "and the provider's package, or use an endpoint that speaks OpenAI's protocol"
        ) from error
    try:
        found = init_chat_model(route.model, model_provider=kind, **options)
    except Exception as error:
        raise _refused(error, route, entry, settings) from None
    assert isinstance(found, BaseChatModel)
    return found


def _options(route: Route, role: ModelRole, entry: Provider) -> dict[str, Any]:
    """Return the client's arguments; those for one model do not hold for another in its place."""
    options: dict[str, Any] = dict(entry.options)
    if route.same_model:
        options |= role.options
        if role.context_window is not None:
            options["profile"] = {"max_input_tokens": role.context_window}
    for name in ("temperature", "max_tokens"):
        if (value := getattr(role, name)) is not None:
            options[name] = value
    for name in ("timeout", "max_retries"):
        own, of_provider = getattr(role, name), getattr(entry, name)
        if (value := own if own is not None else of_provider) is not None:
            options[name] = value
    if entry.base_url is not None:
        options[_ADDRESS.get(entry.type, "base_url")] = entry.base_url
    if entry.api_key is not None:
        options["api_key"] = entry.api_key
    return options


def _openai(route: Route, entry: Provider, options: dict[str, Any], where: str) -> BaseChatModel:
    from .openai_client import ChatOpenAI

    if entry.api_key is None:
        if entry.base_url is not None:
            # The client would send the key that it finds for OpenAI, to somebody else.
            host = urlsplit(entry.base_url).hostname
            raise ConfigurationError(
                f"{where}: is missing; give the key for {host}, or any text, such as 'none', if it "
                "needs none"
            )
        if not os.environ.get("OPENAI_API_KEY"):
            raise ConfigurationError(f"{where}: is missing; give it there, or in OPENAI_API_KEY")
    if entry.base_url is not None and urlsplit(entry.base_url).hostname != _OPENAI:
        options.setdefault("use_responses_api", False)  # compatible endpoints seldom have it
    try:
        return ChatOpenAI.of(f"{route.provider}:{route.model}", route.model, **options)
    except Exception as error:
        without_secrets(error, _secrets(entry))
        raise ConfigurationError(f"{where.partition(':')[0]}: {route.provider}: {error}") from None


def _refused(
    error: Exception, route: Route, entry: Provider, settings: AgentSettings
) -> ConfigurationError:
    without_secrets(error, _secrets(entry))
    where = settings.where("providers", route.provider, "api_key")
    missing = "" if entry.api_key is not None else " (not set)"
    return ConfigurationError(
        f"{where}{missing}: the client for {route.provider}:{route.model} cannot be made: {error}"
    )


def _secrets(entry: Provider) -> list[SecretStr]:
    return [] if entry.api_key is None else [entry.api_key]
