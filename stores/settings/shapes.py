"""The shape of settings files: which fields each may hold."""

from __future__ import annotations

from pydantic import (
    Field,
)

from ...state.config_model import ConfigModel
from .model_shapes import Models, Provider, Role, Routing
from .part_shapes import (
    CompactionSection,
    EvictionSection,
    MaskingSection,
    MemorySection,
    RollingSection,
)
from .placed import Placed

__all__ = [
    "AgentFile",
    "AuthFile",
    "FileShape",
    "SettingsFile",
]


class FileShape(Placed, ConfigModel):
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
