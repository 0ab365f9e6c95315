"""What the configuration models have in common: strictness, camelCase names, readable errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from .errors import ConfigurationError

__all__ = ["ConfigModel", "explained"]

_LONGEST = 200


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
        self._refuse_truths(data)
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigurationError(explained(type(self), error)) from None

    @classmethod
    def _refuse_truths(cls, data: Mapping[str, Any]) -> None:
        """Refuse True and False for a number: they would be taken for 1 and 0."""
        fields = {n: f for name, f in cls.model_fields.items() for n in (name, *_other_names(f))}
        for name, value in data.items():
            field = fields.get(name)
            if isinstance(value, bool) and field and not _takes_truths(field.annotation):
                raise ConfigurationError(
                    f"{cls.__name__}.{name}={value!r}: must be a number or another value of this "
                    "field, not True or False"
                )


def _takes_truths(annotation: Any) -> bool:
    numbers = annotation in (int, float) or {int, float} & set(get_args(annotation))
    return not numbers or bool in get_args(annotation)


def explained(model: type[BaseModel], error: ValidationError) -> str:
    """Say for each mistake: which field, which value, what to do."""
    told: dict[str, list[str]] = {}
    for detail in error.errors(include_url=False):
        field = ".".join(_place(detail["loc"]))
        place = f".{field}={_value(detail['input'])}" if field else f"({_value(detail['input'])})"
        unknown = detail["type"] == "extra_forbidden"
        problem = _unknown(model, field) if unknown else detail["msg"].removeprefix("Value error, ")
        told.setdefault(f"{model.__name__}{place}", []).append(problem)
    return "\n".join(
        f"{place}: {' or '.join(problems).replace(' or Input should be', ' or')}"
        for place, problems in told.items()
    )


def _value(given: Any) -> str:
    """Return a value as Python writes it, its beginning if that is long."""
    try:
        written = repr(given)
    except ValueError:  # Python writes no number of so many digits
        return "a number of thousands of digits"
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"


def _place(steps: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the field and the item of a list: the members of a union are steps too."""
    for at, step in enumerate(steps):
        if at and not isinstance(step, int):
            return
        yield str(step)


def _other_names(field: FieldInfo) -> list[str]:
    """Return the names besides its own that a field goes by: camelCase, and a reference's."""
    choices = field.validation_alias
    names = choices.choices if isinstance(choices, AliasChoices) else [choices]
    return [name for name in (field.alias, *names) if isinstance(name, str)]


def _unknown(model: type[BaseModel], field: str) -> str:
    known = list(model.model_fields)
    for name, info in model.model_fields.items():
        names = [name, *_other_names(info)]
        if field in names:
            other = next(n for n in reversed(names) if n != field)
            return f"given as {other!r} too; leave one of the two out"
    close = difflib.get_close_matches(field, known, n=1)
    fix = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(known)}"
    return f"unknown field; {fix}"
