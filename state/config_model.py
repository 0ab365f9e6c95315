"""What the configuration models have in common: strictness, camelCase names, readable errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from .errors import ConfigurationError

__all__ = ["ConfigModel", "explained"]


class ConfigModel(BaseModel):
    """A frozen model that refuses unknown fields and says what is wrong with a value."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        arbitrary_types_allowed=True,
        validate_default=True,
        protected_namespaces=(),
    )

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigurationError(explained(type(self), error)) from None


def explained(model: type[BaseModel], error: ValidationError) -> str:
    """Say for each mistake: which field, which value, what to do."""
    told: dict[str, list[str]] = {}
    for detail in error.errors(include_url=False):
        field = ".".join(_place(detail["loc"]))
        place = f".{field}={detail['input']!r}" if field else f"({detail['input']!r})"
        unknown = detail["type"] == "extra_forbidden"
        problem = _unknown(model, field) if unknown else detail["msg"].removeprefix("Value error, ")
        told.setdefault(f"{model.__name__}{place}", []).append(problem)
    return "\n".join(
        f"{place}: {' or '.join(problems).replace(' or Input should be', ' or')}"
        for place, problems in told.items()
    )


def _place(steps: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the field and the item of a list: the members of a union are steps too."""
    for at, step in enumerate(steps):
        if at and not isinstance(step, int):
            return
        yield str(step)


def _unknown(model: type[BaseModel], field: str) -> str:
    known = list(model.model_fields)
    if field in known:
        alias = model.model_fields[field].alias
        return f"given as {alias!r} too; leave one of the two out"
    close = difflib.get_close_matches(field, known, n=1)
    fix = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(known)}"
    return f"unknown field; {fix}"
