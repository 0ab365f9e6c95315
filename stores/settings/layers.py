"""One source of settings, checked: its values typed, every mistake in it found."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from .mistakes import Mistake, shown
from .shapes import FileShape
from .spelling import Path, Written

__all__ = ["Layer", "checked", "nested_fields"]

Place: TypeAlias = tuple[Path, int | None]
"""A field, and the item if it holds a list of which one is wrong."""

# Fields of a provider whose values may be shown.
_PLAIN = frozenset({"type", "base_url", "timeout", "max_retries"})


@dataclass(frozen=True)
class Layer:
    """What one source says.

    Attributes:
        source: The file as a path below the folder, or `"environment"`.
        values: Typed values, nested by the fields' names; a field that is not given is not there.
        names: How a field is written in the source.
        ignored: Fields of another program.
    """

    source: str
    values: Mapping[str, Any]
    names: Mapping[Path, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def name_of(self, path: Path) -> str:
        """Return how a field is written in the source."""
        return Written(self.source, names=dict(self.names)).name_of(path)


def checked(
    written: Written, shape: type[FileShape], *, texts: bool = False
) -> tuple[Layer, list[Mistake]]:
    """Check every field of a source alone.

    Args:
        written: What the source says.
        shape: The shape of the source.
        texts: Whether numbers and such may be texts, as in the environment; else a text is a text.

    Returns:
        The layer without the fields that are wrong, and every mistake.
    """
    mistakes = list(written.mistakes)
    values, found = written.values, None
    while found is None:
        try:
            found = _validated(shape, values, texts)
        except ValidationError as error:
            wrong = _mistakes(written, shape, values, error)
            mistakes.extend(wrong.values())
            values = _without(values, wrong)
    if isinstance(written.values.get("model"), str):
        written.names[("model", "model")] = written.names[("model",)]  # said in one word
    typed = _as_named_here(nested_fields(found), written, mistakes)
    return Layer(written.source, typed, written.names, tuple(written.ignored)), mistakes


def nested_fields(model: BaseModel) -> dict[str, Any]:
    """Return the fields that were given to a model, nested models as mappings of the same kind."""
    return {name: _nested(getattr(model, name)) for name in sorted(model.model_fields_set)}


def _nested(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return nested_fields(value)
    if isinstance(value, dict):
        return {key: _nested(each) for key, each in value.items()}
    return value


def _validated(shape: type[FileShape], values: Mapping[str, Any], texts: bool) -> FileShape:
    if texts:
        return shape.model_validate(values)
    # Strict as JSON, not as Python: a list is a tuple there, but "3" is no number.
    return shape.model_validate_json(json.dumps(values), strict=True)


def _mistakes(
    written: Written, shape: type[FileShape], values: Mapping[str, Any], error: ValidationError
) -> dict[Place, Mistake]:
    """Return a mistake for every field or item of a list: the members of a union are one."""
    said: dict[Place, list[str]] = {}
    inputs: dict[Place, Any] = {}
    for detail in error.errors(include_url=False, include_context=False):
        path = tuple(_existing(detail["loc"], values))
        item = _item(detail["loc"], path)
        # As it is written: a validator may have made something else of it before it was refused.
        inputs.setdefault((path, item), detail["input"] if item is not None else _at(values, path))
        said.setdefault((path, item), []).append(_fix(detail, shape, path))
    found = {}
    for place, fixes in said.items():
        path = place[0]
        last = path[-1] if path else ""
        secret = path[:1] == ("providers",) and last not in _PLAIN
        value = shown(inputs[place], field=last, secret=secret)
        fix = " or ".join(dict.fromkeys(fixes)).replace(" or Input should be", " or")
        found[place] = Mistake(written.source, written.name_of(path), value, fix)
    return found


def _at(values: Any, path: Path) -> Any:
    for step in path:
        values = values[step]
    return values


def _item(place: tuple[int | str, ...], path: Path) -> int | None:
    """Return which item of a list a place is about; None: not of a list, or not of one only."""
    rest = place[len(path) :]
    return rest[0] if len(rest) == 1 and isinstance(rest[0], int) else None


def _existing(place: tuple[int | str, ...], values: Any) -> Iterator[str]:
    """Yield the steps of a place that are fields; unions and validators add others."""
    for step in place:
        if isinstance(values, Mapping) and step in values:
            values = values[step]
            yield str(step)
        else:
            return


def _fix(detail: Any, shape: type[FileShape], path: Path) -> str:
    text: str = detail["msg"].removeprefix("Value error, ")
    item = _item(detail["loc"], path)
    if item is not None:
        text = f"item {item + 1}: {text}"
    if detail["type"] == "model_type" and len(path) == 1:
        part = shape.model_fields.get(path[0])
        if part is not None and part.description and "Null turns it off" in part.description:
            text += ", or null to turn it off"
    return text


def _without(values: Mapping[str, Any], places: Collection[Place]) -> dict[str, Any]:
    """Return the values without these fields and items; an error in no field leaves nothing."""
    if ((), None) in places:
        return {}
    firsts = {path[0] for path, _ in places}
    rest: dict[str, Any] = {}
    for name, value in values.items():
        inner = {(path[1:], item) for path, item in places if path[0] == name}
        if name not in firsts:
            rest[name] = value
        elif ((), None) not in inner and isinstance(value, Mapping):
            rest[name] = _without(value, inner)
        elif ((), None) not in inner and isinstance(value, list):
            wrong = {item for _, item in inner}
            rest[name] = [each for at, each in enumerate(value) if at not in wrong]
    return rest


def _as_named_here(
    values: dict[str, Any], written: Written, mistakes: list[Mistake]
) -> dict[str, Any]:
    """Move the fields that other programs keep elsewhere to where this package has them."""
    compaction = values.get("compaction")
    if isinstance(compaction, dict) and "observation_masking_turns" in compaction:
        turns = compaction.pop("observation_masking_turns")
        if not compaction:
            del values["compaction"]
        _move(values, ("masking", "turns"), turns, written, mistakes, "observation_masking_turns")
    if "model" in values:
        role = values.pop("model") or {}
        models = values.get("models") or {}
        values["models"] = {**models, "main": {**(models.get("main") or {}), **role}}
        for path in list(written.names):
            if path[0] == "model":
                written.names[("models", "main", *path[1:])] = written.names[path]
    return values


def _move(
    values: dict[str, Any],
    to: Path,
    value: Any,
    written: Written,
    mistakes: list[Mistake],
    name: str,
) -> None:
    part, last = to
    if value is None or ("masking" in values and values["masking"] is None):
        return  # turned off: there is nothing to set
    masking = values.setdefault(part, {})
    was = written.name_of(("compaction", name))
    if last in masking and masking[last] != value:
        fix = f"{written.name_of(to)} says {masking[last]!r}; keep one of them"
        mistakes.append(Mistake(written.source, was, repr(value), fix))
        return
    masking[last] = value
    written.names[to] = was
