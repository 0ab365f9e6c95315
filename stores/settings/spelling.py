"""From fields as people write them to the fields' names, with what cannot be a field."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .mistakes import HIDDEN, Mistake, closest, is_secret_name, named, shown

__all__ = ["FOREIGN", "Path", "Written", "fields_by_spelling", "model_of", "spelled"]

Path = tuple[str, ...]
"""Where a value stands, by the names of the fields: `("memory", "max_lines")`."""

# Settings of the program whose files these are, about things that this package does not do.
_FOREIGN_EVERYWHERE = frozenset({"version", "name", "description", "metadata"})
FOREIGN: Mapping[str, frozenset[str]] = {
    "SettingsFile": _FOREIGN_EVERYWHERE
    | {
        *("port", "host", "server", "cors", "api", "auth", "secret", "logging", "logLevel", "log"),
        *("storage", "database", "db", "dataDir", "paths", "limits", "maxIterations", "timeouts"),
        *("permissions", "tools", "mcp", "mcpServers", "hooks", "plugins", "skills", "heartbeat"),
        *("scheduler", "tasks", "sessions", "session", "queue", "web", "ui", "theme", "telemetry"),
        *("agents", "defaultAgent", "modes", "sandbox", "workspace", "embeddings", "env"),
    },
    "AgentFile": _FOREIGN_EVERYWHERE
    | {
        *("id", "enabled", "systemPrompt", "prompt", "instructions", "persona", "language"),
        *("tools", "mcp", "mcpServers", "hooks", "plugins", "skills", "permissions", "modes"),
        *("chat", "task", "subagent", "subagents", "subAgents", "heartbeat", "schedule", "cron"),
        *("reasoning", "thinking", "temperature", "maxTokens", "topP", "maxIterations", "limits"),
        *("timeout", "maxTurns", "sandbox", "workspace", "env", "variables", "tags", "author"),
        *("color", "icon", "input", "output", "inputSchema", "outputSchema", "knowledge"),
    },
    "AuthFile": _FOREIGN_EVERYWHERE,
}

_MEANT = {"rolling": "defaultCompaction", "mask": "masking", "observationMasking": "masking"}


@dataclass
class Written:
    """What one source says, by the fields' own names, and how it was spelled there.

    Attributes:
        source: The file, or `"environment"`.
        values: The fields, nested as in the source.
        names: How a field is written in the source, for messages.
        mistakes: What cannot be a field.
        ignored: Fields of another program.
    """

    source: str
    values: dict[str, Any] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def name_of(self, path: Path) -> str:
        """Return how a field is written here."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.names:
                return ".".join((self.names[path[:end]], *path[end:]))
        return ".".join(path)


def spelled(source: str, data: Mapping[str, Any], shape: type[BaseModel]) -> Written:
    """Return what a file says, each field under its own name.

    Args:
        source: The file.
        data: What it holds.
        shape: The shape that it should have.
    """
    written = Written(source)
    written.values = _object(written, data, shape, (), "")
    return written


def _object(
    written: Written, data: Mapping[str, Any], shape: type[BaseModel], path: Path, prefix: str
) -> dict[str, Any]:
    names = fields_by_spelling(shape)
    found: dict[str, Any] = {}
    for key, value in data.items():
        spelling = f"{prefix}{named(key)}"
        name = names.get(key)
        if name is None:
            _not_a_field(written, shape, key, value, path, spelling)
            continue
        here = (*path, name)
        if name in found:
            other = written.names[here]
            fix = f"is the same as {other}; keep one of them"
            written.mistakes.append(Mistake(written.source, spelling, None, fix))
            continue
        written.names[here] = spelling
        found[name] = _value(written, value, shape.model_fields[name], here, f"{spelling}.")
    return found


def _value(written: Written, value: Any, of: FieldInfo, path: Path, prefix: str) -> Any:
    if not isinstance(value, dict):
        return value
    model, many = model_of(of.annotation)
    if model is None:
        return value
    if not many:
        return _object(written, value, model, path, prefix)
    for key in value:
        written.names[(*path, key)] = f"{prefix}{named(key)}"
    return {
        key: _object(written, each, model, (*path, key), f"{prefix}{named(key)}.")
        if isinstance(each, dict)
        else each
        for key, each in value.items()
    }


def _not_a_field(
    written: Written, shape: type[BaseModel], key: str, value: Any, path: Path, spelling: str
) -> None:
    foreign = FOREIGN.get(shape.__name__, frozenset())
    top = not path
    if top and (key in foreign or key.startswith(("$schema", "x-", "//", "_comment"))):
        written.ignored.append(key)
        return
    known = [_spelled_like(key, name, shape.model_fields[name]) for name in shape.model_fields]
    meant = _MEANT.get(key) if top else None
    if top and key == "model" and "models" in shape.model_fields:
        meant = "models.main"
    meant = meant or closest(key, known)
    fix = f"did you mean {meant!r}?" if meant else f"known here: {', '.join(known)}"
    # A key under a name that nobody has foreseen is still a key.
    secret = written.source == "auth.json" or "providers" in path or is_secret_name(key)
    text = HIDDEN if secret else shown(value, field=key)
    written.mistakes.append(Mistake(written.source, spelling, text, f"unknown field; {fix}"))


def _spelled_like(key: str, name: str, info: FieldInfo) -> str:
    return name if "_" in key else info.alias or name


def fields_by_spelling(shape: type[BaseModel]) -> dict[str, str]:
    """Return the name of each field by every way to write it: `maxLines` and `max_lines`."""
    spellings: dict[str, str] = {}
    for name, info in shape.model_fields.items():
        spellings[name] = name
        if info.alias:
            spellings[info.alias] = name
    return spellings


def model_of(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the model that a field holds, if it does, and whether it holds many by name."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return model_of(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        found = (model_of(each) for each in get_args(annotation))
        return next((each for each in found if each[0] is not None), (None, False))
    if origin is dict:
        return model_of(get_args(annotation)[1])[0], True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    return None, False
