"""zlib with a text that both sides know: what is short and mostly names becomes much shorter."""

from __future__ import annotations

import zlib

__all__ = ["compressed", "decompressed"]


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
        zlib.error: It is damaged, cut short, or refers to another text.
    """
    unpacker = zlib.decompressobj(zdict=known)
    whole = unpacker.decompress(data) + unpacker.flush()
    if not unpacker.eof:
        raise zlib.error("the compressed data is cut short")
    return whole
