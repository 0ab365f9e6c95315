"""From what an application names as its model to the model itself, and what is known of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from langchain_core.language_models import BaseChatModel

from ..state.errors import ConfigurationError
from .routed_model import RoutedModel

__all__ = [
    "can_call_tools",
    "needs_cache_hints",
    "needs_plain_ids",
    "output_reserve_of",
    "resolve_model",
    "window_of",
]

DEFAULT_WINDOW = 64_000

_MAKERS = (("claude", "anthropic"), ("gemini", "google_genai"), ("mistral", "mistralai"))
"""Whose a model probably is that is named without a provider: for an error's example."""


def resolve_model(model: BaseChatModel | str | None, *, field: str = "model") -> BaseChatModel:
    """Return the chat model that a value names.

    Args:
        model: A chat model, `"provider:model"`, or `"vendor/model"` of a vendor that serves it.
        field: Where the value comes from, for the error.

    Raises:
        ConfigurationError: Nothing is named, or the provider's package or key is missing.
    """
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError(
            f"{field}={model!r}: pass a chat model, or 'provider:model' such as 'openai:gpt-5-mini'"
        )
    provider, separator, name = (part.strip() for part in model.partition(":"))
    if "/" in provider and (not separator or name):  # a colon after a slash belongs to the name
        from ..stores.settings.routes import RouteError, Router

        try:
            route = Router().routes(model)[0]
        except RouteError as error:
            raise ConfigurationError(f"{field}={model!r}: {error}") from None
        provider, name = route.provider, route.model
    elif not separator or not provider or not name:
        example = name or provider or "gpt-5-mini"
        maker = next((of for start, of in _MAKERS if example.startswith(start)), "openai")
        raise ConfigurationError(
            f"{field}={model!r}: write 'provider:model', as '{maker}:{example}'"
        )
    try:
        if provider == "openai":
            from .openai_client import ChatOpenAI

            return ChatOpenAI.of(f"openai:{name}", name)
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise ConfigurationError(
            f"{field}={model!r}: install 'langchain' and the provider's package for {provider!r}, "
            "or pass a chat model"
        ) from error
    except Exception as error:
        raise ConfigurationError(f"{field}={model!r}: {error}") from error
    try:
        found = init_chat_model(name, model_provider=provider)
    except Exception as error:
        raise ConfigurationError(f"{field}={model!r}: {error}") from error
    assert isinstance(found, BaseChatModel)
    return found


def window_of(model: BaseChatModel, configured: int | None = None) -> int:
    """Return the window in tokens: what was configured, else the model's profile, else 64,000."""
    if configured is not None:
        return configured
    profile: Any = getattr(model, "profile", None) or {}
    return int(profile.get("max_input_tokens") or DEFAULT_WINDOW)


def can_call_tools(model: BaseChatModel) -> bool:
    """Whether the model takes tools at all; LangChain's base class does not."""
    if isinstance(model, RoutedModel):
        return all(map(can_call_tools, model.models))
    return type(model).bind_tools is not BaseChatModel.bind_tools


def needs_cache_hints(model: BaseChatModel) -> bool:
    """Whether the model's provider caches a prefix only where the request marks it (Anthropic)."""
    return model._llm_type.startswith("anthropic")


def needs_plain_ids(model: BaseChatModel) -> bool:
    """Whether a provider that may be asked takes only plain ids of tool calls (Anthropic)."""
    models = model.models if isinstance(model, RoutedModel) else (model,)
    return any(map(needs_cache_hints, models))


def output_reserve_of(model: BaseChatModel) -> int | None:
    """Return the tokens that the model is set to answer with at most, if it is."""
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        value = getattr(model, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None
