"""From the name of a model to the providers that are asked for it, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .mistakes import closest, quoted
from .model_shapes import ModelRole, Provider, Routing

__all__ = ["KNOWN_PROVIDERS", "NoDefaultError", "Route", "RouteError", "Router"]

# Providers that need no entry: their packages find the key in the environment.
KNOWN_PROVIDERS = frozenset(
    {
        *("openai", "anthropic", "azure_openai", "azure_ai", "google_vertexai", "google_genai"),
        *("bedrock", "bedrock_converse", "anthropic_bedrock", "google_anthropic_vertex", "cohere"),
        *("fireworks", "together", "mistralai", "huggingface", "groq", "ollama", "deepseek"),
        *("ibm", "nvidia", "xai", "openrouter", "perplexity", "upstage", "litellm", "baseten"),
    }
)
# What a vendor is called in `vendor/model`, where that is not the provider's name.
_VENDORS = {"google": "google_genai", "mistral": "mistralai", "x-ai": "xai"}


class RouteError(ValueError):
    """A name leads to no provider: says why, and what to write."""


class NoDefaultError(RouteError):
    """The provider that `routing.default` names is not there."""


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a model.

    Attributes:
        provider: The provider's name: an entry of the settings, or a known one.
        model: The model's name, as the provider is sent it.
        same_model: Whether this is the model that was asked for, and no other in its place.
    """

    provider: str
    model: str
    same_model: bool = True


@dataclass(frozen=True)
class Router:
    """Knows the providers.

    Attributes:
        providers: The entries of the settings, by name.
        routing: Which one is asked first, and which ones when it fails.
        main: The model in the main role: its provider is the default where no other is named.
    """

    providers: Mapping[str, Provider] = field(default_factory=dict)
    routing: Routing = field(default_factory=Routing)
    main: ModelRole | None = None

    def routes(self, model: str, provider: str | None = None) -> tuple[Route, ...]:
        """Return the ways to a model, the first one first.

        A model on the default provider is also asked from those of `routing.fallback`; one that
        names another provider stays there, and what is said to it goes nowhere else.

        Args:
            model: `"provider:model"`, `"vendor/model"`, or a model's bare name.
            provider: The provider, if it is known apart.

        Raises:
            RouteError: The name leads to no provider.
        """
        first = self.first(model, provider)
        found = [first]
        if first.provider == self._home():
            found.extend(self.fallback(entry, first.model) for entry in self.routing.fallback)
        return tuple(dict.fromkeys(found))

    def fallback(self, entry: str, model: str) -> Route:
        """Return the way that an entry of `routing.fallback` names.

        Raises:
            RouteError: It is neither a provider nor `"provider:model"`.
        """
        if self.knows(entry):
            return Route(entry, model)
        prefix, separator, rest = entry.partition(":")
        if separator and "/" not in prefix and rest.strip():
            self.check(prefix.strip())
            return Route(prefix.strip(), rest.strip(), same_model=rest.strip() == model)
        raise RouteError(self._no_provider(entry))

    def knows(self, provider: str) -> bool:
        """Say whether a provider can be asked: it has an entry, or needs none."""
        return provider in self.providers or provider in KNOWN_PROVIDERS

    def check(self, provider: str) -> None:
        """Refuse a provider that nobody knows."""
        if not self.knows(provider):
            raise RouteError(self._no_provider(provider))

    def first(self, model: str, provider: str | None = None) -> Route:
        """Return the first way to a model, whoever else may be asked.

        Raises:
            RouteError: The name leads to no provider.
        """
        model = model.strip()
        if provider is not None:
            self.check(provider)
            prefix, separator, rest = model.partition(":")
            same = separator and prefix == provider and rest
            return Route(provider, self._as_sent(provider, rest if same else model))
        prefix, separator, rest = (part.strip() for part in model.partition(":"))
        if separator and "/" not in prefix:
            if not prefix or not rest:
                raise RouteError("write 'provider:model', as 'openai:gpt-5-mini'")
            if not self.knows(prefix):
                default = self._default()
                other = (
                    f", or {quoted(f'{default}:{model}')} if that is its name" if default else ""
                )
                raise RouteError(f"{self._no_provider(prefix)}{other}")
            return Route(prefix, rest)
        default = self._default()
        if default is not None:
            if not self.knows(default):
                raise NoDefaultError(self._no_provider(default))
            return Route(default, self._as_sent(default, model))
        vendor, slash, name = (part.strip() for part in model.partition("/"))
        vendor = vendor if vendor in self.providers else _VENDORS.get(vendor, vendor)
        if slash and name and self.knows(vendor):
            return Route(vendor, name)
        raise RouteError(
            f"which provider serves it? Set routing.default in auth.json, or write 'provider:model'"
            f", as {quoted(f'openai:{name or model}')}"
        )

    def _as_sent(self, provider: str, model: str) -> str:
        """Return the model's name for a provider: a vendor's own API does not want its name."""
        entry = self.providers.get(provider)
        vendor, slash, name = model.partition("/")
        if slash and name and (entry is None or entry.base_url is None):
            kind = provider if entry is None else entry.type
            return name if _VENDORS.get(vendor, vendor) == kind else model
        return model

    def _default(self) -> str | None:
        if self.routing.default is not None:
            return self.routing.default
        return next(iter(self.providers)) if len(self.providers) == 1 else None

    def _home(self) -> str | None:
        default = self._default()
        if default is not None or self.main is None or self.main.model is None:
            return default
        return self.first(self.main.model, self.main.provider).provider

    def _no_provider(self, name: str) -> str:
        meant = closest(name, [*self.providers, *sorted(KNOWN_PROVIDERS)])
        known = ", ".join(self.providers) or "none has an entry"
        hint = f"did you mean {meant!r}?" if meant else f"known: {known}."
        return (
            f"no provider {quoted(name)}; {hint} Or give it an entry under providers in auth.json"
        )
