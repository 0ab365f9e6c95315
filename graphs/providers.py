"""From a route to a chat model: the client of a provider, made as the settings say."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from ..state.errors import ConfigurationError
from ..stores.settings.agent import AgentSettings
from ..stores.settings.mistakes import closest
from ..stores.settings.model_shapes import ModelRole, Provider
from ..stores.settings.routes import KNOWN_PROVIDERS, Route
from ..stores.settings.spelling import Path
from .client_mistakes import check_key, check_names, refusal

__all__ = ["model_on"]

_OPENAI = "api.openai.com"
# What a class calls its address, if not `base_url`.
_ADDRESS = {"azure_openai": "azure_endpoint"}


def model_on(
    route: Route,
    role: ModelRole,
    settings: AgentSettings,
    *,
    field: str,
    path: Path,
    may_fall_back: bool,
) -> BaseChatModel:
    """Make the chat model at the end of a route. Nothing is sent.

    Args:
        route: The provider, and the model's name there.
        role: What the settings say of the model.
        settings: What they say of the provider.
        field: File and field where the model is named, or the argument that names it.
        path: The role among the settings, if it is one of theirs; else nothing.
        may_fall_back: Whether another provider is asked when this one fails: then the client does
            not try again by itself, unless it was told to.

    Raises:
        ConfigurationError: The key or a package is missing, or the client refuses an option; names
            file and field.
    """
    entry = settings.router.providers.get(route.provider)
    kind = route.provider if entry is None else entry.type
    # Without an entry the model's name is all that was written of the provider.
    written = f"{field}={role.model!r}"
    if entry is not None:
        written = settings.where("providers", route.provider)
    of_type = f"{written}.type={kind!r}" if entry is not None else written
    entry = entry or Provider(type=kind)
    options, places = _options(route, role, entry, settings, path)
    if may_fall_back:
        options.setdefault("max_retries", 0)
    key = settings.where("providers", route.provider, "api_key")
    try:
        if kind == "openai":
            from .openai_client import ChatOpenAI

            _check_openai_key(entry, key)
            check_names(ChatOpenAI, places)
            if entry.base_url is not None and urlsplit(entry.base_url).hostname != _OPENAI:
                options.setdefault("use_responses_api", False)  # others seldom have it
            make = partial(ChatOpenAI.of, f"{route.provider}:{route.model}", route.model)
        else:
            init_chat_model = import_module("langchain.chat_models").init_chat_model
            make = partial(init_chat_model, route.model, model_provider=kind)
        with _quietly():
            found = make(**options)
    except ImportError as error:
        raise ConfigurationError(
            f"{of_type}: install 'langchain' and the package for {kind!r}, or use an endpoint that "
            "speaks OpenAI's protocol"
        ) from error
    except ConfigurationError:
        raise
    except Exception as error:
        where = written
        if kind not in KNOWN_PROVIDERS and "nsupported" in str(error):
            meant = closest(kind, KNOWN_PROVIDERS)
            hint = f"did you mean {meant!r}" if meant else 'is it "openai", or in its documentation'
            raise ConfigurationError(
                f"{of_type}: LangChain's init_chat_model does not know it; {hint}?"
            ) from None
        if entry.api_key is None and "key" in str(error).lower():
            where = f"{key}: is missing"
        secrets = [] if entry.api_key is None else [entry.api_key]
        raise refusal(error, options=options, places=places, where=where, secrets=secrets) from None
    assert isinstance(found, BaseChatModel)
    if kind not in ("openai", "huggingface"):  # the latter is made by a method of its own
        check_names(type(found), places)
        check_key(found, kind, key)
    return found


def _options(
    route: Route, role: ModelRole, entry: Provider, settings: AgentSettings, path: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the client's arguments, and where those stand that the settings call options.

    Arguments for one model do not hold for another in its place.
    """
    options: dict[str, Any] = dict(entry.options)
    of_provider = ("providers", route.provider)
    places = {name: settings.where(*of_provider, "options", name) for name in entry.options}
    if route.same_model:
        options |= role.options
        places |= {name: settings.where(*path, "options", name) for name in role.options}
        if role.context_window is not None:
            options["profile"] = {"max_input_tokens": role.context_window}
    for name in ("temperature", "max_tokens"):
        if (value := getattr(role, name)) is not None:
            options[name] = value
            places.pop(name, None)
    for name in ("timeout", "max_retries"):
        own, providers = getattr(role, name), getattr(entry, name)
        if (value := own if own is not None else providers) is not None:
            options[name] = value
            places.pop(name, None)
    if entry.base_url is not None:
        options[_ADDRESS.get(entry.type, "base_url")] = entry.base_url
    if entry.api_key is not None:
        options["api_key"] = entry.api_key
    return options, places


def _check_openai_key(entry: Provider, where: str) -> None:
    if entry.api_key is not None:
        return
    if entry.base_url is not None:
        # The client would send the key that it finds for OpenAI, to somebody else.
        host = urlsplit(entry.base_url).hostname
        raise ConfigurationError(
            f"{where}: is missing; give the key for {host}, or any text, such as 'none', if it "
            "needs none"
        )
    if not os.environ.get("OPENAI_API_KEY"):
        raise ConfigurationError(f"{where}: is missing; give it there, or in OPENAI_API_KEY")


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep LangChain from warning of arguments that it does not know: they are refused by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s).*is not default parameter", UserWarning)
        yield
