"""The fenced blocks of a page: what stands in README and docs is tried as it stands there."""

from __future__ import annotations

import re
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

__all__ = ["Block", "Examples", "blocks_of", "pages"]

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block.

    Attributes:
        language: The first word after the fence, "" if there is none.
        text: What stands in it.
        line: Where, for a traceback.
    """

    language: str
    text: str
    line: int


def pages(root: Path) -> list[str]:
    """Return every page that may show code, by its path from the root."""
    found = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [path.relative_to(root).as_posix() for path in found]


def blocks_of(path: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            language=(match[3].split() or [""])[0],
            text=textwrap.dedent(match[4]),
            line=text.count("\n", 0, match.start()) + 2,
        )
        for match in _FENCE.finditer(text)
    ]


class Examples:
    """The Python of a page, run from top to bottom as one module; a warning is an error.

    Args:
        path: The page.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, Any] = {"__name__": path.stem}
        self.blocks = [block for block in blocks_of(path) if block.language == "python"]
        self._functions: set[CodeType] = set()
        self._called: set[CodeType] = set()

    def run(self) -> None:
        """Run every block."""
        for block in self.blocks:
            padded = "\n" * (block.line - 1) + block.text
            code = compile(padded, str(self.path), "exec", dont_inherit=True)
            self._functions.update(_functions_in(code))
            with self.watched(), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(code, self.names)

    @contextmanager
    def watched(self) -> Iterator[dict[str, Any]]:
        """Notice which functions of the page are called meanwhile, in whatever thread."""

        def notice(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                self._called.add(frame.f_code)

        sys.setprofile(notice)
        threading.setprofile(notice)
        try:
            yield self.names
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def never_called(self) -> list[str]:
        """Return the functions that the page shows and that nobody has called."""
        return sorted(code.co_name for code in self._functions - self._called)


def _functions_in(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 0x2:  # a function's locals are its own; a class's are not
                yield inner
            yield from _functions_in(inner)
