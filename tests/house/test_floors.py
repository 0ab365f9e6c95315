"""Who may import whom: the floors, no circles, and nothing that is not declared."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

FLOORS = {
    "longthread.state": 0,
    "longthread.stores": 1,
    "longthread.nodes": 2,
    "longthread.graphs": 3,
    "longthread.apps": 4,
    "longthread": 5,  # the face: it shows names of every floor, and no floor imports it
}


@dataclass(frozen=True)
class Import:
    """One name that an import statement brings in."""

    target: str
    """Dotted and absolute. For `from m import name` it is `m.name`, module or not."""
    line: int
    relative: bool
    typing_only: bool
    """Under `if TYPE_CHECKING:`."""
    lazy: bool
    """Inside a function, or in a `try` that says what to install when it is not there."""


class _Collector(ast.NodeVisitor):
    """Collects the imports of one module."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.imports: list[Import] = []
        self._typing_only = False
        self._lazy = False

    def visit_If(self, node: ast.If) -> None:
        outside = self._typing_only
        if ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            self._typing_only = True
        for child in node.body:
            self.visit(child)
        self._typing_only = outside
        for child in node.orelse:
            self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outside, self._lazy = self._lazy, True
        self.generic_visit(node)
        self._lazy = outside

    def visit_Try(self, node: ast.Try) -> None:
        outside = self._lazy
        handlers = {ast.unparse(handler.type) for handler in node.handlers if handler.type}
        self._lazy = outside or bool(handlers & {"ImportError", "ModuleNotFoundError"})
        for child in node.body:
            self.visit(child)
        self._lazy = outside
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(other)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno, relative=False)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parts = [node.module] if node.module else []
        if node.level:
            own = self.package.split(".")
            parts = own[: len(own) - node.level + 1] + parts
        for alias in node.names:
            self._add(".".join([*parts, alias.name]), node.lineno, relative=node.level > 0)

    def _add(self, target: str, line: int, *, relative: bool) -> None:
        self.imports.append(Import(target, line, relative, self._typing_only, self._lazy))


def collect(source: str, package: str) -> list[Import]:
    collector = _Collector(package)
    collector.visit(ast.parse(source))
    return collector.imports


def ours(target: str) -> bool:
    return target == "longthread" or target.startswith("longthread.")


def floor(name: str) -> int:
    """The floor that a module, or a name in one, belongs to."""
    parts = name.split(".")
    return FLOORS.get(".".join(parts[:2]), FLOORS["longthread"])


@pytest.fixture(scope="module")
def imports(root: Path, package_files: list[Path]) -> dict[str, list[Import]]:
    """The imports of every module of the package, by the module's dotted name."""
    found: dict[str, list[Import]] = {}
    for path in package_files:
        if path.suffix == ".py":
            *folders, stem = ["longthread", *path.with_suffix("").parts]
            package = ".".join(folders)
            name = package if stem == "__init__" else f"{package}.{stem}"
            found[name] = collect((root / path).read_text(encoding="utf-8"), package)
    assert FLOORS.keys() <= found.keys()
    return found


def test_a_floor_never_imports_a_higher_one(imports: dict[str, list[Import]]) -> None:
    wrong = [
        f"{name}, line {each.line}: imports {each.target}"
        for name, of_module in imports.items()
        for each in of_module
        if ours(each.target) and floor(each.target) > floor(name)
    ]
    assert not wrong, "state <- stores <- nodes <- graphs <- apps:\n" + "\n".join(wrong)


def loaded_by(importer: str, target: str, modules: Mapping[str, Any]) -> set[str]:
    """The modules of ours that importing `target` runs, packages on the way to it included.

    Packages that `importer` itself lies in are left out: they are being imported already. Only a
    name taken from such a package (`from . import name`) depends on it.
    """
    parts = target.split(".")
    on_the_way = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    found = [module for module in on_the_way if module in modules]
    around = {module for module in found if importer.startswith(f"{module}.")}
    if found[-1] in around and found[-1] != target:
        around.discard(found[-1])
    return set(found) - around - {importer}


def circle(imports: Mapping[str, list[Import]]) -> list[str]:
    """The modules of one import circle, the first repeated at the end; empty without one."""
    graph = {
        name: {
            module
            for each in of_module
            if ours(each.target) and not each.typing_only
            for module in loaded_by(name, each.target, imports)
        }
        for name, of_module in imports.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, list[Import]]) -> None:
    found = circle(imports)
    assert not found, " <- ".join(found)


def test_a_circle_is_found_also_through_a_package_and_a_function() -> None:
    clean = {
        "longthread": collect("from longthread.a.x import f", "longthread"),
        "longthread.a": collect("from .x import f\nfrom .y import g", "longthread.a"),
        "longthread.a.x": collect("if TYPE_CHECKING:\n    from .y import g", "longthread.a"),
        "longthread.a.y": collect("from .x import f", "longthread.a"),
    }
    assert circle(clean) == []

    for source in ("from . import g", "def f():\n    from .y import g", "from .. import f"):
        assert circle({**clean, "longthread.a.x": collect(source, "longthread.a")}), source


def test_subpackages_import_the_package_relatively_and_the_root_absolutely(
    imports: dict[str, list[Import]],
) -> None:
    wrong = [
        f"{name}, line {each.line}: {each.target}"
        for name, of_module in imports.items()
        for each in of_module
        if ours(each.target) and each.relative == (name == "longthread")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_third_party_import_is_a_declared_dependency(
    imports: dict[str, list[Import]], project: Mapping[str, Any]
) -> None:
    """What comes along with another dependency today may stay away tomorrow.

    An extra may be imported inside a function, where its absence is caught, or anywhere in `apps`.
    """

    def names(requirements: list[str]) -> set[str]:
        return {canonical(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in requirements}

    def canonical(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    core = names(project["project"]["dependencies"])
    extras = project["project"]["optional-dependencies"]
    optional = {name for extra in extras if extra != "test" for name in names(extras[extra])}
    distributions = packages_distributions()

    wrong = []
    for name, of_module in imports.items():
        for each in of_module:
            top = each.target.partition(".")[0]
            if top in sys.stdlib_module_names or ours(each.target) or each.typing_only:
                continue
            providers = {canonical(one) for one in distributions.get(top, [])}
            allowed = (
                core | optional if each.lazy or floor(name) == FLOORS["longthread.apps"] else core
            )
            if not providers & allowed:
                wrong.append(f"{name}, line {each.line}: {top} (from {sorted(providers)})")
    assert not wrong, "\n".join(wrong)
