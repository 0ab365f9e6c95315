"""What the configuration models have in common: strictness, camelCase names, readable errors."""

from __future__ import annotations

import difflib
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
    known = list(model.model_fields)
    lines = []
    for detail in error.errors(include_url=False):
        field = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            close = difflib.get_close_matches(field, known, n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(known)}"
            lines.append(f"{model.__name__}.{field}={detail['input']!r}: unknown field; {fix}")
        else:
            problem = detail["msg"].removeprefix("Value error, ")
            place = f".{field}={detail['input']!r}" if field else f"({detail['input']!r})"
            lines.append(f"{model.__name__}{place}: {problem}")
    return "\n".join(lines)
