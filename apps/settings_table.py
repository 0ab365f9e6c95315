"""Every setting in a row: its name, its value as it may be shown, and where that comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel, SecretStr
from pydantic.alias_generators import to_camel

from ..state.config import FlushTrigger
from ..stores.settings.agent import PARTS, AgentSettings
from ..stores.settings.environment import ENVIRONMENT
from ..stores.settings.mistakes import HIDDEN, is_secret_name, may_hold_key
from ..stores.settings.model_shapes import ModelRole, Provider, Routing
from ..stores.settings.spelling import Path

__all__ = ["Row", "rows"]

_LONGEST = 60  # characters of a value
# Whatever is in them is sent to the provider beside the key, or in its place.
_SENT_ALONG = re.compile(r"(headers?|query|params|cookies)$", re.IGNORECASE)
_ONLY_IN_PYTHON = {("memory", "redact")}


@dataclass(frozen=True, slots=True)
class Row:
    """One setting.

    Attributes:
        field: Its name in a settings file.
        value: Its value; a secret is hidden.
        source: The file or variable that it comes from, or `default`.
    """

    field: str
    value: str
    source: str


def rows(settings: AgentSettings) -> Iterator[Row]:
    """Yield every setting that holds for an agent, part by part."""
    for name in PARTS:
        part = getattr(settings, "rolling" if name == "default_compaction" else name)
        if part is None:
            yield Row(_camel((name,)), "off", _source(settings, (name,)))
        else:
            yield from _fields(settings, (name,), part)
    for role in ("main", "compact"):
        found: ModelRole | None = getattr(settings, role)
        if found is None:
            value = "not set" if role == "main" else "as models.main"
            yield Row(f"models.{role}", value, "default")
        else:
            yield from _fields(settings, ("models", role), found, only_set=True)
    routing: Routing = settings.router.routing
    yield from _fields(settings, ("routing",), routing)
    for name, provider in settings.router.providers.items():
        yield from _provider(settings, name, provider)


def _provider(settings: AgentSettings, name: str, provider: Provider) -> Iterator[Row]:
    yield from _fields(settings, ("providers", name), provider, only_set=True)
    if provider.api_key is None:
        yield Row(f"providers.{name}.apiKey", "not set", "default")


def _fields(
    settings: AgentSettings, path: Path, model: BaseModel, *, only_set: bool = False
) -> Iterator[Row]:
    for name in type(model).model_fields:
        here = (*path, name)
        value = getattr(model, name)
        if here in _ONLY_IN_PYTHON or (only_set and name not in model.model_fields_set):
            continue
        if isinstance(value, BaseModel) and not isinstance(value, FlushTrigger):
            yield from _fields(settings, here, value)
        else:
            yield _row(settings, here, value)


def _row(settings: AgentSettings, path: Path, value: Any) -> Row:
    text = HIDDEN if is_secret_name(path[-1]) else _text(value)
    return Row(_camel(path), text, _source(settings, path))


def _source(settings: AgentSettings, path: Path) -> str:
    place = settings.merged.place(*path)
    if place is None:
        inside = settings.merged.places(*path)  # a value with parts of its own
        return ", ".join(inside) or "default"
    file, name = place
    if file == ENVIRONMENT:
        return name.partition(".")[0]
    return file if name == _camel(path) or name == ".".join(path) else f"{file} ({name})"


def _text(value: Any) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case SecretStr():
            return HIDDEN
        case FlushTrigger():
            gap = f", every {value.gap}" if value.mode == "throttled" else ""
            return f"{value.mode}{gap}"
        case timedelta():
            return str(value)
        case tuple() | list():
            return ", ".join(map(_text, value)) or "none"
        case Mapping():
            return "; ".join(_item(key, each) for key, each in value.items()) or "none"
    line = " ".join(str(value).split())
    if may_hold_key(unquote(line)):
        host = re.match(r"https?://[^/?#@\s]+/", line, re.IGNORECASE)
        return f"{host[0]}{HIDDEN}" if host and not may_hold_key(host[0]) else HIDDEN
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(str(value)):,} characters)"


def _item(name: str, value: Any) -> str:
    if _SENT_ALONG.search(name) and isinstance(value, Mapping):
        text = "; ".join(f"{_name(key)}: {HIDDEN}" for key in value) or "none"
    elif is_secret_name(name) or (_SENT_ALONG.search(name) and value is not None):
        text = HIDDEN
    else:
        text = _text(value)
    return f"{_name(name)}: {text}"


def _name(text: str) -> str:
    return HIDDEN if may_hold_key(text) else text


def _camel(path: Path) -> str:
    inside = path[:2] if path[0] == "providers" else path[:0]  # a provider's name is its own
    return ".".join((*map(_name, inside), *map(to_camel, path[len(inside) :])))
