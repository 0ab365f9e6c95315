"""The model that puts an answer into the shape that an application wants."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from ..state.errors import ConfigurationError

__all__ = ["structured_model"]

_METHODS = {
    "AutoStrategy": None,
    "ProviderStrategy": "json_schema",
    "ToolStrategy": "function_calling",
}
"""What LangChain's strategies are called in `with_structured_output`."""


def structured_model(model: BaseChatModel, wanted: Any) -> Runnable[Any, Any] | None:
    """Return the model that answers in a shape; None: none is wanted.

    Args:
        model: The agent's model.
        wanted: A schema as for `with_structured_output`, or one of LangChain's strategies around
            such a schema.

    Raises:
        ConfigurationError: The model cannot answer so.
    """
    if wanted is None:
        return None
    schema: Any = wanted
    options: dict[str, Any] = {}
    if type(wanted).__name__ in _METHODS and hasattr(wanted, "schema"):
        schema, method = wanted.schema, _METHODS[type(wanted).__name__]
        known = inspect.signature(model.with_structured_output).parameters
        if method is not None and "method" in known:
            options = {"method": method}
        if getattr(getattr(wanted, "schema_spec", None), "strict", None) and "strict" in known:
            options["strict"] = True
    try:
        return model.with_structured_output(schema, **options)
    except Exception as error:  # whatever an integration makes of a schema that it cannot read
        raise ConfigurationError(
            f"response_format={schema!r}: pass one pydantic model, a TypedDict or a JSON schema "
            f"with a title, and a model that can follow it; {type(model).__name__} says "
            f"{type(error).__name__}: {error}"
        ) from error
