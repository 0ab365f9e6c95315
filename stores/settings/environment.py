"""What the environment says: `LONGTHREAD_MEMORY__MAX_LINES=300`, `LONGTHREAD_MODEL=openai:…`.

A variable is named like a field, in capitals, with two underscores between the levels. Its text
becomes what the field takes: a number, yes or no, a list as JSON or with commas, a whole part as
JSON, `null` where a field can be unset.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from .json_text import JsonMistake, parse_json
from .layers import Layer, checked
from .mistakes import HIDDEN, Mistake, closest
from .model_shapes import Role
from .shapes import SettingsFile
from .spelling import Path, Written, model_of, spelled

__all__ = ["ENVIRONMENT", "environment_layer"]

ENVIRONMENT = "environment"
PREFIX = "LONGTHREAD_"

# Read elsewhere, and no settings of an agent.
_OTHERS = frozenset({"checkpointer", "debug", "workspace"})


_TEXTS = {str, SecretStr}


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


@dataclass(frozen=True)
class _Field:
    """The field that a variable is about.

    Attributes:
        path: Where it stands.
        annotation: What it takes.
        model: The model that it holds, if it does.
        many: Whether it holds many of them, by name.
    """

    path: Path
    annotation: Any
    model: type[BaseModel] | None
    many: bool


def _read(written: Written, variable: str, text: str, providers: frozenset[str]) -> None:
    shown = PREFIX + variable.upper()
    try:
        field = _field(variable, providers)
    except _Unknown as error:
        if not error.is_somebody_elses:
            mistake = Mistake(ENVIRONMENT, shown, None, f"unknown variable; {error}")
            written.mistakes.append(mistake)
        return
    try:
        value = _typed(text, field)
    except JsonMistake as error:
        written.mistakes.append(Mistake(ENVIRONMENT, shown, HIDDEN, str(error)))
        return
    if isinstance(value, dict) and field.model is not None:
        inside = _inside(value, field, shown)
        written.mistakes.extend(inside.mistakes)
        written.names |= {(*field.path, *below): name for below, name in inside.names.items()}
        value = inside.values
    written.names[field.path] = shown
    _put(written.values, field.path, value)


def _field(variable: str, providers: frozenset[str]) -> _Field:
    """Return the field that a variable is named after, or raise `_Unknown`."""
    field = _Field((), None, _Environment, False)
    for step in variable.split("__"):
        shape = field.model
        if shape is None:
            raise _Unknown(variable, "", [])
        if field.many:
            field = _Field((*field.path, _provider(step, providers)), shape, shape, False)
            continue
        info = shape.model_fields.get(step)
        if info is None:
            raise _Unknown(variable, step, list(shape.model_fields))
        field = _Field((*field.path, step), info.annotation, *model_of(info.annotation))
    return field


def _put(values: dict[str, Any], path: Path, value: Any) -> None:
    *parents, last = path
    for step in parents:
        inner = values.get(step)
        if not isinstance(inner, dict):
            # A text is short for the name of a model, or for the mode of a trigger.
            short = "mode" if step == "flush_trigger" else "model"
            inner = values[step] = {short: inner} if isinstance(inner, str) else {}
        values = inner
    values[last] = value


def _inside(value: dict[str, Any], field: _Field, variable: str) -> Written:
    """Return a whole part that a variable holds as JSON, by its fields' names."""
    found = Written(variable)
    assert field.model is not None
    for name, inner in value.items() if field.many else [("", value)]:
        if not isinstance(inner, dict):
            found.values[name] = inner
            continue
        below = (name,) if field.many else ()
        part = spelled(ENVIRONMENT, inner, field.model)
        for path, spelling in part.names.items():
            found.names[(*below, *path)] = ".".join((variable, *below, spelling))
        for wrong in part.mistakes:
            spelling = ".".join((variable, *below, wrong.field))
            text = HIDDEN if field.path[0] == "providers" else wrong.value
            found.mistakes.append(Mistake(ENVIRONMENT, spelling, text, wrong.fix))
        if field.many:
            found.values[name] = part.values
        else:
            found.values = part.values
    return found


def _typed(text: str, field: _Field) -> Any:
    """Return a text as something that the field can check."""
    text = text.strip()
    kinds = _kinds(field.annotation)
    if dict in kinds or (field.model is not None and (text[:1] == "{" or text == "null")):
        return parse_json(text)
    if tuple in kinds:
        if text[:1] == "[":
            return parse_json(text)
        return [item.strip() for item in text.split(",") if item.strip()]
    if type(None) in kinds and text.lower() == "null":
        return None
    if type(None) in kinds and text.lower() == "none" and not _TEXTS.intersection(kinds):
        return None  # for a text it may be one: the key of an endpoint that needs none, say
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


class _Unknown(Exception):
    """A variable that is named after no field."""

    def __init__(self, variable: str, step: str, known: list[str]) -> None:
        meant = closest(step, known)
        path = _path_like(variable)
        if path is not None:
            super().__init__(f"did you mean {PREFIX}{path.upper()}?")
        elif not step:
            super().__init__("nothing is below this field")
        elif "__" not in variable and variable.startswith(_PARTS):
            super().__init__("write two underscores between the levels, as MEMORY__MAX_LINES")
        elif meant:
            super().__init__(f"did you mean {meant.upper()!r}?")
        else:
            super().__init__(f"known here: {', '.join(known).upper()}")
        # Another program's variables may begin like ours.
        is_like_ours = "__" in variable or meant or path or variable.startswith(_PARTS)
        self.is_somebody_elses = variable in _OTHERS or not is_like_ours


_PARTS = tuple(f"{name}_" for name in _Environment.model_fields)


def _path_like(variable: str) -> str | None:
    """Return the variable of the same letters with its underscores where they belong."""
    fields = {path.replace("_", ""): path for path in _paths(_Environment)}
    return fields.get(variable.replace("_", ""))


def _paths(shape: type[BaseModel]) -> Iterator[str]:
    for name, info in shape.model_fields.items():
        inner, many = model_of(info.annotation)
        yield name
        if inner is not None and not many:
            yield from (f"{name}__{below}" for below in _paths(inner))
