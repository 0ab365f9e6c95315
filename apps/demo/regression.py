"""The regression checks that the scripted model writes into the demo's project."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["check_source"]

_CENT = Decimal("0.01")


def check_source(path: str, problem: str, mode: str, incident: str, tag: str) -> str:
    """Write a regression check.

    Args:
        path: Where it will stand, `checks/check_<module>.py`.
        problem: What the project's check says is missing: how many cases, for which rate.
        mode: The rounding mode that the contract asks for.
        incident: What it is written for.
        tag: How the user wants changes signed.
    """
    module = path.rpartition("check_")[2].removesuffix(".py")
    needed, rate = re.search(r"at least (\d+)", problem), re.search(r"RATE is ([\d.]+)", problem)
    count = int(needed[1]) if needed else 0
    factor = Decimal(rate[1]) if rate else Decimal(0)
    lines = [f'    ("{net:.2f}", "{_due(net * factor, mode)}"),' for net in _nets(count)]
    head = f'"""Amounts of harbor/{module}.py, as they should be. For {incident}. [{tag}]"""'
    return "\n".join([head, "", "CASES = [", *lines, "]", ""])


def _nets(count: int) -> list[Decimal]:
    return [Decimal(n * 370 % 9_990 + 10) / 100 for n in range(1, count + 1)]


def _due(amount: Decimal, mode: str) -> Decimal:
    return amount.quantize(_CENT, rounding=mode)
