"""What an agent is built with: its arguments, and where they say nothing, its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ..state.config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from ..state.config_model import ConfigModel
from ..state.errors import ConfigurationError
from .arguments import check_parts
from .model_roles import ModelRoles, Resolve

__all__ = ["Configured", "configured"]

Part = TypeVar("Part", bound=ConfigModel)


@dataclass(frozen=True)
class Configured:
    """The parts of an agent, arguments and settings together.

    Attributes:
        memory: See `MemoryConfig`; None: off.
        compaction: See `CompactionConfig`; None: off.
        rolling: See `RollingCompactionConfig`; None: off.
        masking: See `MaskingConfig`; None: off.
        eviction: See `ToolResultEvictionConfig`; None: off.
        models: Gives each part its model.
    """

    memory: MemoryConfig | None
    compaction: CompactionConfig | None
    rolling: RollingCompactionConfig | None
    masking: MaskingConfig | None
    eviction: ToolResultEvictionConfig | None
    models: ModelRoles


def configured(settings: Any, name: str, resolve: Resolve, **parts: Any) -> Configured:
    """Put arguments and settings together.

    Args:
        settings: `Settings`, or None.
        name: The agent's name.
        resolve: Makes a model from its name where there are no settings.
        parts: The parts as they were given. In each, a field that was given wins; a field that was
            not is as in the settings; None turns the part off whatever they say.

    Raises:
        ConfigurationError: An argument is not what it should be.
    """
    check_parts(**parts)
    if settings is None:
        return Configured(**parts, models=ModelRoles(None, resolve))
    from ..stores.settings.loading import Settings  # here: it takes a tenth of a second

    if not isinstance(settings, Settings):
        raise ConfigurationError(f"settings={settings!r}: pass Settings.load(folder)")
    own = settings.agent(name)
    together = {part: _together(getattr(own, part), given) for part, given in parts.items()}
    return Configured(**together, models=ModelRoles(own, resolve))


def _together(loaded: Part | None, given: Part | None) -> Part | None:
    """Return a part: its given fields, the others as loaded."""
    if given is None:
        return None
    if loaded is None:  # turned off there: whoever gives a field wants the part
        return given if given.model_fields_set else None
    fields = {name: getattr(loaded, name) for name in loaded.model_fields_set}
    for name in given.model_fields_set:
        value, below = getattr(given, name), fields.get(name)
        if isinstance(value, TruncateArgsConfig) and isinstance(below, TruncateArgsConfig):
            value = _together(below, value)
        fields[name] = value
    return type(given)(**fields)
