"""`Settings.load`: everything that the files of a folder and the environment say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

from .agent import AgentSettings, agent_settings
from .environment import environment_layer
from .json_text import JsonMistake, read_json
from .layers import Layer, checked
from .merging import merged
from .mistakes import Mistake, SettingsError
from .shapes import AgentFile, AuthFile, FileShape, SettingsFile
from .spelling import spelled

__all__ = ["Settings"]

AUTH, SETTINGS, AGENTS, AGENT = "auth.json", "settings.json", "agents", "agent.json"


@dataclass(frozen=True, repr=False)
class Settings:
    """What `settings.json`, `agents/<name>/agent.json`, `auth.json` and the environment say.

    A field comes from the first of these that names it: an argument of `create_agent_graph`, a
    variable `LONGTHREAD_…`, the agent's `agent.json`, `settings.json`, `auth.json`, the default.
    Parts are merged field by field. The environment is read when the settings are loaded.

    Attributes:
        folder: The folder that was read.
        files: What was found there, as paths below the folder, the weakest first.
        agents: Names of the agents that have an `agent.json`.
        ignored: By file the fields that belong to another program.
    """

    folder: Path
    files: tuple[str, ...]
    agents: tuple[str, ...]
    ignored: Mapping[str, tuple[str, ...]]
    _by_agent: Mapping[str | None, AgentSettings]

    @classmethod
    def load(cls, folder: str | PathLike[str] = ".") -> Self:
        """Read the settings of a folder. A file that is not there says nothing.

        Args:
            folder: Where `settings.json` lies.

        Raises:
            SettingsError: With every mistake in all files and variables: file, field, value, fix.
        """
        root = Path(folder)
        if not root.is_dir():
            raise SettingsError(
                str(root),
                [Mistake(str(root), "", None, "there is no such folder; make it, or name another")],
            )
        mistakes: list[Mistake] = []
        layers: dict[str, Layer] = {}
        names = _agents(root, mistakes)
        shapes: dict[str, type[FileShape]] = {AUTH: AuthFile, SETTINGS: SettingsFile}
        shapes |= {f"{AGENTS}/{name}/{AGENT}": AgentFile for name in names}
        for file, shape in shapes.items():
            if os.path.lexists(root / file):
                layer, wrong = _file(root, file, shape)
                mistakes.extend(wrong)
                layers[file] = layer
        common = [layers[file] for file in (AUTH, SETTINGS) if file in layers]
        providers = frozenset(merged(common).values.get("providers") or {})
        variables, wrong = environment_layer(providers)
        mistakes.extend(wrong)
        by_agent: dict[str | None, AgentSettings] = {}
        for agent in (None, *names):
            own = layers.get(f"{AGENTS}/{agent}/{AGENT}")
            stack = [*common, *([own] if own is not None else []), variables]
            by_agent[agent], wrong = agent_settings(root, agent, merged(stack))
            # What is wrong already needs no second reason, nor a second agent to say so.
            # Several values of one field, as in a list, may each be wrong by themselves.
            said = {
                (each.file, each.field, value) for each in mistakes for value in (None, each.value)
            }
            mistakes.extend(e for e in wrong if (e.file, e.field, e.value) not in said)
        if mistakes:
            raise SettingsError(str(root), mistakes)
        ignored = {file: layer.ignored for file, layer in layers.items() if layer.ignored}
        return cls(root, tuple(layers), tuple(names), ignored, by_agent)

    def agent(self, name: str | None = None) -> AgentSettings:
        """Return what holds for an agent; one without an `agent.json` has what holds for all."""
        return self._by_agent.get(name) or self._by_agent[None]

    def __repr__(self) -> str:
        return f"Settings(folder={str(self.folder)!r}, files={list(self.files)!r})"


def _agents(root: Path, mistakes: list[Mistake]) -> list[str]:
    folder = root / AGENTS
    try:
        found = sorted(each.name for each in folder.iterdir() if os.path.lexists(each / AGENT))
    except FileNotFoundError:
        return []
    except OSError as error:
        mistakes.append(Mistake(AGENTS, "", None, f"cannot be read ({error.strerror})"))
        return []
    return found


def _file(root: Path, file: str, shape: type[FileShape]) -> tuple[Layer, list[Mistake]]:
    try:
        data = read_json(root / file)
    except JsonMistake as error:
        return Layer(file, {}), [Mistake(file, "", None, str(error))]
    return checked(spelled(file, data, shape), shape)
