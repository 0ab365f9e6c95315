"""The checks of the demo's project. A copy stands in the project as `checks/run.py`.

Runs on its own, in a bare interpreter: `python checks/run.py`. Prints what fails, the most urgent
first, and exits with 1 if anything does.
"""

from __future__ import annotations

import ast
import decimal
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["failures"]


def failures(root: Path) -> Iterator[str]:
    """Yield what is wrong with a project, the most urgent first.

    Args:
        root: The project's folder, importable.
    """
    contract = (root / "docs" / "contract.md").read_text(encoding="utf-8")
    yield from _rounding(contract)
    modules = sorted((root / "harbor").glob("*.py"))
    for path in modules:
        if floats := _floats(path):
            yield f"harbor/{path.name}: {floats} constant is a float"
    if not re.search(r"^- E-\d+", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M):
        yield "CHANGELOG.md: no entry for the incident"
    needed = re.search(r"at least (\d+) cases", contract)
    for path in modules:
        if "def charge" in path.read_text(encoding="utf-8"):
            assert needed is not None
            yield from _regression(root, path.stem, int(needed[1]))


def _rounding(contract: str) -> Iterator[str]:
    named = re.search(r"rounding: (\w+)", contract)
    assert named is not None
    round_cents = importlib.import_module("harbor.tax").round_cents
    for text in ("0.005", "0.015", "0.025"):
        amount = decimal.Decimal(text)
        if round_cents(amount) != amount.quantize(decimal.Decimal("0.01"), rounding=named[1]):
            yield "harbor/tax.py: does not round as the contract says"
            return


def _floats(path: Path) -> int:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return sum(isinstance(node, ast.Constant) and type(node.value) is float for node in nodes)


def _regression(root: Path, name: str, needed: int) -> Iterator[str]:
    rate = importlib.import_module(f"harbor.{name}").RATE
    path = root / "checks" / f"check_{name}.py"
    if not path.exists():
        yield f"checks/check_{name}.py: missing, at least {needed} cases (RATE is {rate})"
        return
    check = importlib.import_module(f"checks.check_{name}")
    if len(check.CASES) < needed:
        yield f"checks/check_{name}.py: {len(check.CASES)} of at least {needed} cases"
    charge = importlib.import_module(f"harbor.{name}").charge
    for net, due in check.CASES:
        if charge(decimal.Decimal(net)) != decimal.Decimal(due):
            yield f"checks/check_{name}.py: wrong amount for {net}"
            return


def _main() -> int:
    root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root))
    sys.dont_write_bytecode = True
    found = list(failures(root))
    for line in found:
        print(f"FAIL {line}")
    print(f"{len(found)} failed" if found else "all checks pass")
    return bool(found)


if __name__ == "__main__":
    sys.exit(_main())
