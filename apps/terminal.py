"""Text that somebody else has written, on standard output."""

from __future__ import annotations

import sys

__all__ = ["for_output"]


def for_output(text: str) -> str:
    """Return a text as standard output may have it.

    A terminal would obey control characters; a file or another program gets the text as it is.
    """
    from ..state.text import visible

    return visible(text, keep="\n\r") if sys.stdout.isatty() else text
