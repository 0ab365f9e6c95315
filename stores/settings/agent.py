"""What the settings come to for one agent, and whether it fits together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...state.config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
)
from ...state.config_model import ConfigModel
from ...state.errors import ConfigurationError
from .merging import Merged
from .mistakes import Mistake, shown
from .model_shapes import ModelRole, Provider, Routing
from .routes import NoDefaultError, RouteError, Router

__all__ = ["PARTS", "AgentSettings", "agent_settings"]

Part = TypeVar("Part", bound=ConfigModel)

PARTS: Mapping[str, type[ConfigModel]] = {
    "memory": MemoryConfig,
    "compaction": CompactionConfig,
    "masking": MaskingConfig,
    "eviction": ToolResultEvictionConfig,
    "default_compaction": RollingCompactionConfig,
}
"""The parts of the settings, and the configuration model of each."""


@dataclass(frozen=True, repr=False)
class AgentSettings:
    """What holds for one agent.

    In each part only the fields that somebody has said are set (`model_fields_set`).

    Attributes:
        folder: The folder of the settings.
        name: The agent; None: any agent without a file of its own.
        memory: See `MemoryConfig`; None: turned off.
        compaction: See `CompactionConfig`; None: turned off.
        masking: See `MaskingConfig`; None: turned off.
        eviction: See `ToolResultEvictionConfig`; None: turned off.
        rolling: See `RollingCompactionConfig`; None: turned off.
        main: The model that talks; None: nobody has said.
        compact: The model that writes summaries; None: nobody has said.
        router: The providers, and which of them is asked.
        merged: All values, and where each comes from.
    """

    folder: Path
    name: str | None = None
    memory: MemoryConfig | None = field(default_factory=MemoryConfig)
    compaction: CompactionConfig | None = field(default_factory=CompactionConfig)
    masking: MaskingConfig | None = field(default_factory=MaskingConfig)
    eviction: ToolResultEvictionConfig | None = field(default_factory=ToolResultEvictionConfig)
    rolling: RollingCompactionConfig | None = field(default_factory=RollingCompactionConfig)
    main: ModelRole | None = None
    compact: ModelRole | None = None
    router: Router = field(default_factory=Router)
    merged: Merged = field(default_factory=Merged)

    def where(self, *path: str) -> str:
        """Return where a value stands, or where it could: file and field, for a message."""
        place = self.merged.place(*path)
        if place is not None:
            return ": ".join(place)
        file = "auth.json" if path[0] in ("providers", "routing") else "settings.json"
        return f"{file}: {'.'.join(path)}"

    def __repr__(self) -> str:
        return f"AgentSettings(folder={str(self.folder)!r}, name={self.name!r})"


def agent_settings(
    folder: Path, name: str | None, merged: Merged
) -> tuple[AgentSettings, list[Mistake]]:
    """Build what holds for an agent, and find what does not fit together."""
    mistakes: list[Mistake] = []
    values = merged.values
    models: Mapping[str, Any] = values.get("models") or {}
    main, compact = (_role(models.get(role)) for role in ("main", "compact"))
    router = Router(
        {key: Provider(**fields) for key, fields in (values.get("providers") or {}).items()},
        Routing(**(values.get("routing") or {})),
        main,
    )
    settings = AgentSettings(
        folder,
        name,
        memory=_part(MemoryConfig, "memory", merged, mistakes),
        compaction=_part(CompactionConfig, "compaction", merged, mistakes),
        masking=_part(MaskingConfig, "masking", merged, mistakes),
        eviction=_part(ToolResultEvictionConfig, "eviction", merged, mistakes),
        rolling=_part(RollingCompactionConfig, "default_compaction", merged, mistakes),
        main=main,
        compact=compact,
        router=router,
        merged=merged,
    )
    mistakes.extend(_unreachable(settings))
    return settings, mistakes


def _role(fields: Mapping[str, Any] | None) -> ModelRole | None:
    return ModelRole(**fields) if fields else None


def _part(kind: type[Part], name: str, merged: Merged, mistakes: list[Mistake]) -> Part | None:
    if name not in merged.values:
        return kind()
    fields = merged.values[name]
    if fields is None:
        return None
    try:
        return kind(**fields)
    except ConfigurationError as error:
        # Each field is right by itself: a condition between them is not met.
        places = " and ".join(merged.places(name))
        fix = str(error).rpartition("): ")[2]
        mistakes.append(Mistake(places, _written(merged, name), None, fix))
        return kind()


def _written(merged: Merged, name: str) -> str:
    place = merged.place(name)
    if place is not None:
        return place[1]
    spelt = {layer.name_of((name,)) for at, layer in merged.sources.items() if at[0] == name}
    return min(spelt, default=name)


def _unreachable(settings: AgentSettings) -> Iterator[Mistake]:
    """Yield what names a provider that is not there, or one without a key."""
    router = settings.router
    wanted: dict[str, None] = {}
    for name, role in (("main", settings.main), ("compact", settings.compact)):
        if role is not None and role.model is None:
            fields = sorted(role.model_fields_set)
            fix = "is said of no model; name one with model"
            yield _at(settings, ("models", name, fields[0]), None, fix)
    routing = router.routing
    if routing.default is not None:
        wanted[routing.default] = None
        if not router.knows(routing.default):
            yield from _mistake(settings, ("routing", "default"), routing.default, router.check)
    for entry in dict.fromkeys(routing.fallback):
        try:
            wanted[router.fallback(entry, "any").provider] = None
        except RouteError as error:
            yield _at(settings, ("routing", "fallback"), entry, str(error))
    for path, model, provider in _named(settings):
        try:
            wanted[router.first(model, provider).provider] = None
        except NoDefaultError:
            continue  # the default has been complained about
        except RouteError as error:
            yield _at(settings, path, model if provider is None else provider, str(error))
    for name in wanted:
        entry_of = router.providers.get(name)
        if entry_of is not None and entry_of.base_url and entry_of.api_key is None:
            yield _at(settings, ("providers", name, "api_key"), None, _needs_key(entry_of.base_url))


def _needs_key(base_url: str) -> str:
    host = urlsplit(base_url).hostname
    return f'is missing; give the key for {host}, or any text, such as "none", if it needs none'


def _mistake(
    settings: AgentSettings, path: tuple[str, ...], value: str, check: Any
) -> Iterator[Mistake]:
    try:
        check(value)
    except RouteError as error:
        yield _at(settings, path, value, str(error))


def _named(settings: AgentSettings) -> Iterator[tuple[tuple[str, ...], str, str | None]]:
    """Yield every model that is named: where, its name, and its provider if that is apart."""
    for name, role in (("main", settings.main), ("compact", settings.compact)):
        if role is None:
            continue
        field_of = "provider" if role.provider is not None else "model"
        if role.model is not None:
            yield ("models", name, field_of), role.model, role.provider
    for part in ("memory", "compaction", "default_compaction"):
        fields = settings.merged.values.get(part) or {}
        model = fields.get("model")
        if isinstance(model, str) and not (part == "default_compaction" and model == "default"):
            yield (part, "model"), model, None


def _at(settings: AgentSettings, path: tuple[str, ...], value: str | None, fix: str) -> Mistake:
    file, _, name = settings.where(*path).partition(": ")
    text = None if value is None else shown(value)
    return Mistake(file, name, text, fix)
