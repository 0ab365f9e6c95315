"""Putting layers on top of each other, field by field, and remembering where each came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .layers import Layer
from .spelling import Path

__all__ = ["Merged", "merged"]


@dataclass(frozen=True)
class Merged:
    """What all sources say together.

    Attributes:
        values: The fields, nested by name.
        sources: For each value the layer that it comes from.
    """

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[Path, Layer] = field(default_factory=dict)

    def places(self, *path: str) -> list[str]:
        """Return the sources that speak of a field or of anything in it."""
        found = [layer.source for at, layer in self.sources.items() if at[: len(path)] == path]
        return list(dict.fromkeys(found))

    def place(self, *path: str) -> tuple[str, str] | None:
        """Return where a value stands: the source, and the field as it is written there."""
        for end in range(len(path), 0, -1):
            layer = self.sources.get(path[:end])
            if layer is not None:
                return layer.source, layer.name_of(path)
        return None


def merged(layers: Iterable[Layer]) -> Merged:
    """Merge layers, of which a later one wins over an earlier one.

    A later layer that names another model replaces a role as a whole: temperature, window and
    provider were said of the model before. The same holds for the mode of a flush trigger.
    """
    result = Merged()
    for layer in layers:
        _put(result, result.values, layer.values, (), layer)
    return result


def _put(
    result: Merged, into: dict[str, Any], values: Mapping[str, Any], path: Path, layer: Layer
) -> None:
    for name, value in values.items():
        here = (*path, name)
        if isinstance(value, Mapping) and not _is_one_value(here):
            before = into.get(name)
            if not isinstance(before, dict) or _starts_over(here, value):
                _forget(result, here)
                before = into[name] = {}
            if not value and not before:
                result.sources[here] = layer  # a part that is there, and says nothing
            _put(result, before, value, here, layer)
        else:
            _forget(result, here)
            into[name] = value
            result.sources[here] = layer


def _is_one_value(path: Path) -> bool:
    return path[-1] == "options"


def _starts_over(path: Path, value: Mapping[str, Any]) -> bool:
    named = "model" if path[0] == "models" else "mode"
    return (path[0] == "models" or path[-1] == "flush_trigger") and value.get(named) is not None


def _forget(result: Merged, path: Path) -> None:
    for at in [at for at in result.sources if at[: len(path)] == path]:
        del result.sources[at]
