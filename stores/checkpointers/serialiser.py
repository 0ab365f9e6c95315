"""How the savers that we open write and read values: strict, without pickle, and compressed.

What is read back is only built from types that LangGraph itself trusts and those that the
application has named; anything else stays the plain data that it was stored as. Whoever can write
to the database can then not have code run here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from .compression import compressed, decompressed
from .known_text import KNOWN

__all__ = ["CompactSerialiser"]

_SUFFIX = "+zlib1"
"""Compressed with reference to `KNOWN`."""
_PLAIN_SUFFIX = "+zlib"
"""Compressed without, as earlier."""
_WORTH_IT = 40  # bytes; below, zlib's own overhead eats what it saves
_LEVEL = 6


class CompactSerialiser(JsonPlusSerializer):
    """LangGraph's serialiser with a strict list of types, and zlib where that is smaller.

    A checkpoint is mostly the same names and zeros again and again (about 1,900 bytes become 300),
    and text halves. Values that were written without compression are read too, so it can be turned
    on and off. It is marked in the type of a value, `msgpack+zlib1`, as LangGraph marks encryption;
    savers of LangGraph's own cannot read such values.

    Args:
        allowed: Types of the application's own that the state may hold, or their module and name.
        compress: Whether to compress what is written.
    """

    def __init__(
        self, allowed: Iterable[type | tuple[str, str]] = (), *, compress: bool = True
    ) -> None:
        # Without the argument LangGraph's default would apply: everything, with a warning.
        super().__init__(allowed_msgpack_modules=tuple(allowed) or None)
        self.compress = compress

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return a value's type and bytes."""
        kind, data = super().dumps_typed(obj)
        if self.compress and kind == "msgpack" and len(data) >= _WORTH_IT:
            smaller = compressed(data, KNOWN, _LEVEL)
            if len(smaller) < len(data):
                return kind + _SUFFIX, smaller
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of a type and bytes."""
        kind, raw = data
        if kind.endswith(_SUFFIX):
            return super().loads_typed((kind.removesuffix(_SUFFIX), decompressed(raw, KNOWN)))
        if kind.endswith(_PLAIN_SUFFIX):
            return super().loads_typed((kind.removesuffix(_PLAIN_SUFFIX), decompressed(raw, b"")))
        return super().loads_typed(data)
