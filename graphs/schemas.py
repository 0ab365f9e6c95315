"""What goes into and comes out of the graph: the messages, and what an application adds to the
state.

The other channels stay inside, so that none can collide with a channel of a parent graph.
"""

from __future__ import annotations

from typing import Any, get_type_hints

from typing_extensions import TypedDict

from ..state.channels import ThreadInput, ThreadOutput, ThreadState

__all__ = ["input_schema", "output_schema"]


def input_schema(state_schema: type[Any]) -> type[Any]:
    """Return the schema of the graph's input: `messages` and the application's own channels."""
    return _with_own(ThreadInput, state_schema)


def output_schema(state_schema: type[Any]) -> type[Any]:
    """Return the schema of the output: `messages`, `structured_response`, the application's own."""
    return _with_own(ThreadOutput, state_schema)


def _with_own(schema: type[Any], state_schema: type[Any]) -> type[Any]:
    ours = get_type_hints(ThreadState, include_extras=True)
    hints = get_type_hints(state_schema, include_extras=True)
    own = {name: hint for name, hint in hints.items() if name not in ours}
    if not own:
        return schema
    fields = {**get_type_hints(schema, include_extras=True), **own}
    make: Any = TypedDict  # with fields known only now, a type checker has nothing to check
    extended: type[Any] = make(schema.__name__, fields, total=False)
    return extended
