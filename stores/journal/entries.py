"""A message as the index keeps it: what it says, and a digest that tells an edit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from langchain_core.messages import AnyMessage

from ...state.transcript import message_text, role_of

__all__ = ["Entry", "entry_of"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a thread.

    Attributes:
        position: Where it stands, counted from 0.
        message_id: Its id.
        role: user, assistant, system, or the tool that it is a result of.
        text: Its text, a marker for each attachment, its calls with their arguments.
        digest: 16 bytes that change with any of id, role and text.
    """

    position: int
    message_id: str
    role: str
    text: str
    digest: bytes


def entry_of(position: int, message: AnyMessage) -> Entry:
    """Return the entry of a message."""
    role, text = role_of(message), message_text(message)
    whole = "\0".join((message.id or "", role, text)).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(whole, digest_size=16).digest()
    return Entry(position, message.id or "", role, text, digest)
