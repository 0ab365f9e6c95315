"""A serializer that writes nothing down: what a replay's checkpointer in memory holds values with.

Every step of a replay is a call that opens the thread anew. Reading all of it back from bytes would
take most of the time, and says nothing about what a model is sent.
"""

from __future__ import annotations

from typing import Any

__all__ = ["HeldAsItIs"]


class HeldAsItIs:
    """Hands values on as they are; a graph replaces the values of its channels, it edits none."""

    def dumps_typed(self, obj: Any) -> tuple[str, Any]:
        """Keep a value."""
        return "held", obj

    def loads_typed(self, data: tuple[str, Any]) -> Any:
        """Return it."""
        return data[1]
