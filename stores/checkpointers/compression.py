"""zlib with a text that both sides know: what is short and mostly names becomes much shorter."""

from __future__ import annotations

import zlib

from ...state.errors import CheckpointerError

__all__ = ["compressed", "decompressed"]

_DAMAGED = (
    "a value in the checkpointer's database cannot be read: restore the thread from a backup, or "
    "go back to one of its earlier checkpoints"
)


def compressed(data: bytes, known: bytes, level: int) -> bytes:
    """Return data compressed.

    Args:
        data: The data.
        known: What it may refer to; needed, byte for byte, to read it.
        level: From 1, fast, to 9, small.
    """
    packer = zlib.compressobj(level, zdict=known)
    return packer.compress(data) + packer.flush()


def decompressed(data: bytes, known: bytes) -> bytes:
    """Return what was compressed.

    Raises:
        CheckpointerError: It is damaged, cut short, or refers to another text.
    """
    unpacker = zlib.decompressobj(zdict=known) if known else zlib.decompressobj()
    try:
        whole = unpacker.decompress(data) + unpacker.flush()
    except zlib.error as error:
        raise CheckpointerError(f"{_DAMAGED} ({error})") from error
    if not unpacker.eof:
        raise CheckpointerError(f"{_DAMAGED} (it is cut short)")
    return whole
