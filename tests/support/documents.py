"""The fenced blocks of a page: what stands in README and docs is tried as it stands there."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = ["Block", "Examples", "blocks_of", "pages"]

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)

_CALLED = "_example_was_called"
_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)


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
        self.names: dict[str, Any] = {"__name__": path.stem, _CALLED: self._was_called}
        self.blocks = [block for block in blocks_of(path) if block.language == "python"]
        self._never_called: dict[int, str] = {}

    def run(self) -> None:
        """Run every block."""
        for block in self.blocks:
            tree = ast.parse("\n" * (block.line - 1) + block.text, str(self.path))
            watched = ast.fix_missing_locations(_Watched(self._never_called).visit(tree))
            code = compile(watched, str(self.path), "exec", dont_inherit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(code, self.names)

    def never_called(self) -> list[str]:
        """Return the functions that the page shows and that nobody has called."""
        return sorted(self._never_called.values())

    def _was_called(self, number: int) -> None:
        self._never_called.pop(number, None)


class _Watched(ast.NodeTransformer):
    """Makes each function of a page say that it is called."""

    def __init__(self, functions: dict[int, str]) -> None:
        self.functions = functions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        return self._said(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        self.generic_visit(node)
        return self._said(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        pair = ast.Tuple([self._call(node, "lambda"), node.body], ast.Load())
        node.body = ast.Subscript(pair, ast.Constant(1), ast.Load())
        return node

    def _said(self, node: _Function) -> _Function:
        first = int(ast.get_docstring(node) is not None)  # it has to stay the first statement
        node.body.insert(first, ast.Expr(self._call(node, node.name)))
        return node

    def _call(self, node: ast.AST, name: str) -> ast.Call:
        number = len(self.functions) + 1_000 * getattr(node, "lineno", 0)
        self.functions[number] = f"{name}, line {getattr(node, 'lineno', 0)}"
        return ast.Call(ast.Name(_CALLED, ast.Load()), [ast.Constant(number)], [])
