"""How much of a Markdown text that is still being written is complete."""

from __future__ import annotations

__all__ = ["complete_blocks"]

_FENCES = ("```", "~~~")


def complete_blocks(text: str) -> int:
    """Return the position up to which what follows cannot change how a text is shown.

    That is the last place where a blank line outside a code fence is followed by a line that is
    not indented: indented, it could belong to what is above.
    """
    complete, at = 0, 0
    fence = ""
    after_blank = False
    for line in text.splitlines(keepends=True):
        words = line.strip()
        if after_blank and not fence and words and not line[0].isspace():
            complete = at
        marker = words[:3]
        if fence:
            # What closes a fence is nothing but its own characters.
            if marker == fence and not words.strip(fence[0]):
                fence = ""
        elif marker in _FENCES:
            fence = marker
        after_blank = not words and line.endswith("\n")
        at += len(line)
    return complete
