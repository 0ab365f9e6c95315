"""Which model talks, which one summarises, which one remembers: from the settings to the models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from ..state.config import CompactionConfig, MemoryConfig
from ..state.errors import ConfigurationError
from .models import output_reserve_of
from .routed_model import RoutedModel

if TYPE_CHECKING:
    from ..stores.settings.agent import AgentSettings
    from ..stores.settings.model_shapes import ModelRole
    from ..stores.settings.spelling import Path

__all__ = ["ModelRoles"]

Resolve = Callable[..., BaseChatModel]


class ModelRoles:
    """Gives each part of the agent its model.

    Args:
        settings: What holds for the agent; None: models are only what the arguments name.
        resolve: Makes a model from its name where there are no settings.
    """

    def __init__(self, settings: AgentSettings | None, resolve: Resolve) -> None:
        self._settings = settings
        self._resolve = resolve

    def main(self, given: BaseChatModel | str | None) -> BaseChatModel:
        """Return the model that talks: the argument, else the main role."""
        settings = self._settings
        if settings is None or isinstance(given, BaseChatModel):
            return self._resolve(given)
        if given is not None:
            return self.named(given, field="model")
        if settings.main is None:
            raise ConfigurationError(
                f"model=None, and no main model in the settings of {settings.folder}: set models."
                "main.model in settings.json or auth.json, or LONGTHREAD_MODEL, or pass a model"
            )
        return self._in_role(settings.main, "main")

    def compact(self, config: CompactionConfig | None, main: BaseChatModel) -> BaseChatModel:
        """Return the model that writes automatic summaries: its own, else `compact`, else main."""
        if config is not None and config.model is not None:
            return self.named(config.model, field=self._field("CompactionConfig", "compaction"))
        role = self._settings.compact if self._settings is not None else None
        return main if role is None or config is None else self._in_role(role, "compact")

    def memory(self, config: MemoryConfig | None, main: BaseChatModel) -> BaseChatModel:
        """Return the model that extracts and consolidates: its own, else main."""
        if config is None or config.model is None:
            return main
        return self.named(config.model, field=self._field("MemoryConfig", "memory"))

    def problems(self) -> list[str]:
        """Make every model that the settings name, and return why one cannot be made."""
        own = self._settings
        if own is None:
            return []
        named: list[Callable[[], BaseChatModel]] = []
        for name, role in (("main", own.main), ("compact", own.compact)):
            if role is not None:
                named.append(partial(self._in_role, role, name))
        parts = (own.compaction, own.memory, own.rolling)
        for name, part in zip(("compaction", "memory", "default_compaction"), parts, strict=True):
            if part is not None and part.model not in (None, "default"):
                field = self._field(type(part).__name__, name)
                named.append(partial(self.named, part.model, field=field))
        found: list[str] = []
        for make in named:
            try:
                make()
            except ConfigurationError as error:
                found.append(" ".join(str(error).split()))
        return list(dict.fromkeys(found))

    def named(self, model: BaseChatModel | str, *, field: str) -> BaseChatModel:
        """Return the model that a value names.

        Args:
            model: A chat model, or its name.
            field: Where the value comes from, for the error.
        """
        if self._settings is None or not isinstance(model, str) or not model.strip():
            return self._resolve(model, field=field)
        from ..stores.settings.model_shapes import ModelRole

        return self._routed(ModelRole(model=model), field)

    def _field(self, config: str, part: str) -> str:
        place = None if self._settings is None else self._settings.merged.place(part, "model")
        return f"{config}.model" if place is None else ": ".join(place)

    def _in_role(self, role: ModelRole, name: str) -> BaseChatModel:
        assert self._settings is not None
        field = self._settings.where("models", name, "model")
        return self._routed(role, field, ("models", name))

    def _routed(self, role: ModelRole, field: str, path: Path = ()) -> RoutedModel:
        from ..stores.settings.routes import RouteError
        from .providers import model_on

        settings = self._settings
        assert settings is not None
        assert role.model is not None, "checked when the settings were loaded"
        try:
            routes = settings.router.routes(role.model, role.provider)
        except RouteError as error:
            raise ConfigurationError(f"{field}={role.model!r}: {error}") from None
        entries = settings.router.providers
        models = []
        for at, route in enumerate(routes):
            may_fall_back = at + 1 < len(routes)
            model = model_on(
                route, role, settings, field=field, path=path, may_fall_back=may_fall_back
            )
            entry = entries.get(route.provider)
            kind = route.provider if entry is None else entry.type
            models.append((f"{route.provider}:{route.model}", model, kind == "openai"))
        keys = [entry.api_key for entry in entries.values() if entry.api_key is not None]
        made: list[BaseChatModel] = [model for _, model, _ in models]
        return RoutedModel.of(
            models,
            secrets=keys,
            window=min((w for w in map(_known_window, made) if w), default=None),
            max_tokens=max((n for n in map(output_reserve_of, made) if n), default=None),
        )


def _known_window(model: BaseChatModel) -> int | None:
    profile: Any = getattr(model, "profile", None) or {}
    window: int | None = profile.get("max_input_tokens")
    return window
