"""Lines of a text, and text in them that looks like the structure of its file.

A line ends with `\\n` and with nothing else: `str.splitlines` would also cut at form feeds, `\\r`
and U+2028, which are content here.

A line that would be read as structure gets a backslash before it, which Markdown renders as the
line itself. A line that looks like structure *behind backslashes* gets one more, so that taking
one away always restores the original.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["escape_lines", "split_lines", "unescape_lines"]


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its `\\n`; joined they are the text."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def escape_lines(
    text: str, structural: Callable[[str], bool], needed: Callable[[int], bool] = lambda _: True
) -> str:
    """Return `text` with every structural line behind a backslash.

    Args:
        text: Any text.
        structural: Says whether a line, its newline left off, reads as structure.
        needed: Says by its index whether a structural line has to be escaped. Those that already
            have a backslash always are.
    """
    return "\n".join(
        "\\" + line
        if structural(line.lstrip("\\")) and (line.startswith("\\") or needed(index))
        else line
        for index, line in enumerate(text.split("\n"))
    )


def unescape_lines(text: str, structural: Callable[[str], bool]) -> str:
    """Return what `escape_lines` was given."""
    return "\n".join(
        line[1:] if line.startswith("\\") and structural(line.lstrip("\\")) else line
        for line in text.split("\n")
    )
