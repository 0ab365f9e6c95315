"""JSON Schema files, so that an editor completes and checks settings while they are written."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from .shapes import AgentFile, AuthFile, FileShape, SettingsFile
from .spelling import FOREIGN, model_of

__all__ = ["settings_schemas", "write_schemas"]

_SHAPES: Mapping[str, type[FileShape]] = {
    "settings.schema.json": SettingsFile,
    "agent.schema.json": AgentFile,
    "auth.schema.json": AuthFile,
}

# What can be written as one word instead of an object.
_SHORT: Mapping[str, dict[str, Any]] = {
    "ModelRole": {"type": "string", "description": "The model's name."},
    "FlushSection": {"enum": ["always", "never"]},
}


# What a validator demands of a text, so that an editor sees it too.
_PATTERNS: Mapping[str, Mapping[str, str]] = {
    "CompactionSection": {"summary_prompt": r"\{messages\}"},
    "MemorySection": {"consolidation_prompt": r"^(?:(?!%d)[\s\S])*(?:%d(?:(?!%d)[\s\S])*){2}$"},
    "Provider": {
        "base_url": r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\s]+(?:/[^?#\s]*)?$",
        "api_key": r"^[!-~]+$",
    },
    "ModelRole": {"model": r"\S"},
}


def write_schemas(folder: str | PathLike[str] = ".") -> list[Path]:
    """Write the schemas of `settings.json`, `agent.json` and `auth.json` into a folder.

    A settings file refers to its schema by `"$schema": "./settings.schema.json"`.

    Args:
        folder: Where to; made if it is not there.

    Returns:
        The files that were written.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    written = []
    for name, schema in settings_schemas().items():
        path = root / name
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        written.append(path)
    return written


def settings_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas by the names of their files."""
    return {name: _schema(shape) for name, shape in _SHAPES.items()}


def _schema(shape: type[FileShape]) -> dict[str, Any]:
    schema = shape.model_json_schema(by_alias=True)
    explained = _explanations(shape)
    for name, part in [*schema.get("$defs", {}).items(), (shape.__name__, schema)]:
        if part.get("type") == "object" and "properties" in part:
            patterns = _PATTERNS.get(name, {})
            part["properties"] = _properties(part["properties"], explained.get(name, {}), patterns)
            part["description"] = part.get("description", "").partition("\n\nAttributes:")[0]
    definitions = schema.get("$defs", {})
    for name, short in _SHORT.items():
        if name in definitions:
            definitions[name] = {"anyOf": [short, definitions[name]]}
    foreign = "Not used here."
    schema["properties"] |= {
        name: {"description": foreign}
        for name in sorted(FOREIGN[shape.__name__])
        if name not in schema["properties"]
    }
    schema["properties"]["$schema"] = {"type": "string"}
    schema["patternProperties"] = {"^(x-|//|_comment)": {}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _properties(
    properties: dict[str, Any], explained: Mapping[str, str], patterns: Mapping[str, str]
) -> dict[str, Any]:
    """Return the properties in both spellings, each explained."""
    found: dict[str, Any] = {}
    for name, part in properties.items():
        snake = to_snake(name)
        part.pop("title", None)
        if snake in explained:
            part.setdefault("description", explained[snake])
        if snake in patterns:
            part["pattern"] = patterns[snake]  # of texts: null stays null
        if part.get("default") is None:
            part.pop("default", None)
        found[name] = part
        if snake != name:
            found[snake] = part
    return found


def _explanations(shape: type[BaseModel]) -> dict[str, dict[str, str]]:
    """Return what the docstrings say of each field, by the name of the model."""
    found: dict[str, dict[str, str]] = {}
    pending: list[type[BaseModel]] = [shape]
    while pending:
        model = pending.pop()
        if model.__name__ in found:
            continue
        texts: dict[str, str] = {}
        for cls in reversed(model.__mro__):
            texts |= _attributes(cls.__doc__ or "") if issubclass(cls, BaseModel) else {}
        found[model.__name__] = texts
        for info in model.model_fields.values():
            inner, _ = model_of(info.annotation)
            if inner is not None:
                pending.append(inner)
    return found


def _attributes(docstring: str) -> dict[str, str]:
    """Return the entries of a docstring's *Attributes*, in one line each, plain text."""
    # Python takes the indentation away itself from 3.13 on.
    _, _, section = inspect.cleandoc(docstring).partition("Attributes:\n")
    entries = re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", section, re.DOTALL | re.MULTILINE)
    return {name: " ".join(text.split()).replace("`", "") for name, text in entries}
