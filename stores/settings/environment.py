"""What the environment says: `LONGTHREAD_MEMORY__MAX_LINES=300`, `LONGTHREAD_MODEL=openai:…`.

A variable is named like a field, in capitals, with two underscores between the levels. Its text
becomes what the field takes: a number, yes or no, a list as JSON or with commas, a whole part as
JSON, `null` where a field can be unset.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from .json_text import JsonMistake, parse_json
from .layers import Layer, checked
from .mistakes import HIDDEN, Mistake, closest
from .shapes import Role, SettingsFile
from .spelling import Path, Written, fields_by_spelling, model_of, spelled

__all__ = ["ENVIRONMENT", "environment_layer"]

ENVIRONMENT = "environment"
PREFIX = "LONGTHREAD_"

# Read elsewhere, and no settings of an agent.
_OTHERS = frozenset({"debug", "workspace"})


class _Environment(SettingsFile):
    """What can be said in the environment: all of settings.json, and the agent's own model."""

    model: Role | None = None


class _Variables(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True)


def environment_layer(providers: frozenset[str] = frozenset()) -> tuple[Layer, list[Mistake]]:
    """Read the `LONGTHREAD_*` variables of this process.

    Args:
        providers: Names of providers that the files know: a variable cannot spell every name, so
            `OPEN_ROUTER` is the provider `open-router` if there is one.

    Returns:
        The layer, and every mistake in it.
    """
    source = EnvSettingsSource(_Variables)
    start = PREFIX.lower()
    variables = {
        name.lower().removeprefix(start): text
        for name, text in source.env_vars.items()
        if name.lower().startswith(start) and text is not None and text.strip()
    }
    written = Written(ENVIRONMENT)
    # Whole parts first, so that a variable for one field of it wins.
    for name in sorted(variables, key=lambda each: (each.count("__"), each)):
        _read(written, name, variables[name], providers)
    return checked(written, _Environment, texts=True)


def _read(written: Written, variable: str, text: str, providers: frozenset[str]) -> None:
    shown = PREFIX + variable.upper()
    *parents, last = variable.split("__")
    shape: type[BaseModel] | None = _Environment
    values: dict[str, Any] = written.values
    path: Path = ()
    many = False
    for step in [*parents, last]:
        if shape is None:
            return _unknown(written, shown, variable, "", [])
        if many:
            name, annotation, many = _provider(step, providers), shape, False
        else:
            known = fields_by_spelling(shape)
            if step not in known or known[step] != step:
                return _unknown(written, shown, variable, step, list(shape.model_fields))
            name, annotation = step, shape.model_fields[step].annotation
        path = (*path, name)
        shape, many = model_of(annotation)
        if len(path) <= len(parents):
            inner = values.get(name)
            if not isinstance(inner, dict):
                # A text is short for the model's name, or for the mode.
                inner = {} if not isinstance(inner, str) else _short(shape, inner)
                values[name] = inner
            values = inner
    try:
        value = _typed(text, annotation, shape)
    except JsonMistake as error:
        written.mistakes.append(Mistake(ENVIRONMENT, shown, HIDDEN, str(error)))
        return None
    if isinstance(value, dict) and shape is not None:
        inside = _inside(value, shape, many, shown)
        written.mistakes.extend(inside.mistakes)
        written.names |= {(*path, *below): name for below, name in inside.names.items()}
        value = inside.values
    written.names[path] = shown
    values[path[-1]] = value
    return None


def _short(shape: type[BaseModel] | None, text: str) -> dict[str, Any]:
    return {"mode" if shape is not None and "mode" in shape.model_fields else "model": text}


def _inside(value: dict[str, Any], shape: type[BaseModel], many: bool, variable: str) -> Written:
    """Return a whole part that a variable holds as JSON, by its fields' names."""
    found = Written(variable)
    for name, inner in value.items() if many else [("", value)]:
        part = spelled(ENVIRONMENT, inner, shape) if isinstance(inner, dict) else None
        if part is None:
            found.values[name] = inner
            continue
        below = (name,) if many else ()
        for path, spelling in part.names.items():
            found.names[(*below, *path)] = ".".join((variable, *below, spelling))
        for wrong in part.mistakes:
            field = ".".join((variable, *below, wrong.field))
            found.mistakes.append(Mistake(ENVIRONMENT, field, wrong.value, wrong.fix))
        if many:
            found.values[name] = part.values
        else:
            found.values = part.values
    return found


def _typed(text: str, annotation: Any, shape: type[BaseModel] | None) -> Any:
    """Return a text as something that the field can check."""
    text = text.strip()
    kinds = set(_kinds(annotation))
    if shape is not None or dict in kinds:
        if text[:1] in "{[" or text == "null" or dict in kinds:
            return parse_json(text)
        return text
    if tuple in kinds:
        if text[:1] == "[":
            return parse_json(text)
        return [item.strip() for item in text.split(",") if item.strip()]
    if type(None) in kinds and text.lower() in ("null", "none") and str not in kinds:
        return None
    return text


def _kinds(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [kind for each in get_args(annotation) for kind in _kinds(each)]
    return [origin or annotation]


def _provider(step: str, providers: frozenset[str]) -> str:
    spelt = {name.lower().replace("-", "_"): name for name in sorted(providers)}
    return spelt.get(step, step)


def _unknown(
    written: Written, shown: str, variable: str, step: str, known: Mapping[str, Any] | list[str]
) -> None:
    """Refuse a variable that looks like a setting; another program's may begin like ours."""
    if variable in _OTHERS:
        return
    meant = closest(step, known)
    if "__" not in variable and meant is None:
        return
    fix = f"did you mean {meant.upper()!r}?" if meant else f"known here: {_names(known)}"
    if not step:
        fix = "nothing is below this field"
    written.mistakes.append(Mistake(ENVIRONMENT, shown, None, f"unknown variable; {fix}"))


def _names(known: Mapping[str, Any] | list[str]) -> str:
    return ", ".join(name.upper() for name in known)
