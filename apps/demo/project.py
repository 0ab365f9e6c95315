"""The small project that the demo's agent repairs, made anew from a seed.

Whatever the agent has to find out is chosen here at random and written into files only; the script
that plays the model never sees a `Truth`, so that it can only be right if its context was.

Files are filled until they take a certain number of *tokens*, so that the session meets the same
limits with every tokenizer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from ...state.counting import count_text
from . import house_check

__all__ = ["LOG", "Truth", "build_project", "task_text"]

LOG = "logs/nightly.log"
_TRACE = ("report", "orders", "tax", "money")
_FEATURES = (
    *("deposits", "discounts", "fees", "insurance", "loyalty"),
    *("refunds", "shipping", "tips", "vouchers"),
)
_MODULE_TOKENS = 1_050
_LEDGER_TOKENS = 880
_CHECK_TOKENS = 480
_LOG_TOKENS = 32_000
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Truth:
    """What the agent has to find out, and what it is told.

    Attributes:
        incident: The number in the log.
        tag: What every changed line has to be signed with; told by the user only.
        rounding: The mode that the contract asks for.
        rate: The tax rate in the contract.
        culprit: The module that rounds otherwise.
        first_day: The day of the release, from which on the booked tax is wrong.
        cents: By how much in all.
        log_lines: Lines of the log.
    """

    incident: str
    tag: str
    rounding: str
    rate: str
    culprit: str
    first_day: str
    cents: int
    log_lines: int


def task_text(truth: Truth) -> str:
    """What the user asks for."""
    return (
        "The nightly report of the harbour shop has been off by some cents since the last release. "
        "Find out why and repair it. Then make run_check pass for the whole project: no money as "
        "float, and a regression check for every module that charges something. "
        f"Sign every line that you change with [{truth.tag}]. "
        "Remember for later: releases go out on Thursdays at 14:30, and migrations/ is never "
        "touched."
    )


def build_project(root: Path, seed: int) -> Truth:
    """Write the project.

    Args:
        root: A folder that does not exist yet.
        seed: Chooses everything that the agent has to find out.

    Returns:
        What is true about it.
    """
    chance = random.Random(seed)
    rounding = chance.choice(("ROUND_HALF_EVEN", "ROUND_HALF_DOWN"))
    rate = chance.choice(("0.05", "0.15", "0.25"))
    incident = f"E-{chance.randrange(1000, 9999)}"
    days = [date(2026, 3, 2) + timedelta(days=n) for n in range(4)]
    release = chance.randrange(1, 4)
    files: dict[str, str] = {}
    cents = 0
    for number, day in enumerate(days):
        wrong = number >= release
        files[f"data/{day}.csv"], off = _ledger(chance, rounding, rate, wrong)
        cents += off
    files |= {f"harbor/{name}.py": _trace_module(name, chance) for name in _TRACE}
    rates = {name: f"0.{chance.randrange(101, 399)}" for name in _FEATURES}
    files |= {f"harbor/{name}.py": _feature(name, rates[name], chance) for name in _FEATURES}
    files["harbor/__init__.py"] = '"""The harbour shop."""\n'
    files["docs/contract.md"] = _contract(rounding, rate, _cases_needed())
    files[LOG] = log = _log(chance, incident, days[-1])
    files["CHANGELOG.md"] = "# Changes\n\n"
    files["migrations/0001_initial.sql"] = "create table orders (id text primary key);\n"
    files["checks/run.py"] = Path(house_check.__file__).read_text(encoding="utf-8")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return Truth(
        incident=incident,
        tag=f"H-{chance.randrange(10, 99)}",
        rounding=rounding,
        rate=rate,
        culprit="harbor/tax.py",
        first_day=days[release].isoformat(),
        cents=cents,
        log_lines=log.count("\n"),
    )


def _filled(text: str, tokens: int, line: Callable[[], str], end: str = "") -> str:
    """Add lines until the text takes as many tokens."""
    lines = [text.rstrip("\n")]
    taken = count_text(text)
    while taken < tokens:
        lines.append(line())
        taken += count_text(lines[-1]) + 1
    return "\n".join(lines) + "\n" + end


def _ledger(chance: random.Random, rounding: str, rate: str, wrong: bool) -> tuple[str, int]:
    """One day's bookings, and by how many cents its tax is off."""
    off = Decimal(0)

    def booking() -> str:
        nonlocal off
        net = Decimal(chance.randrange(10, 900)) / 10
        due = (net * Decimal(rate)).quantize(_CENT, rounding)
        booked = (net * Decimal(rate)).quantize(_CENT, ROUND_HALF_UP) if wrong else due
        off += booked - due
        return f"order-{chance.randrange(10_000, 99_999)},{net:.2f},{booked}"

    text = _filled("order,net,tax", _LEDGER_TOKENS, booking)
    return text, int(off * 100)


def _history(chance: random.Random) -> Callable[[], str]:
    months = iter(f"{year}-{month:02}" for year in range(1990, 2100) for month in range(1, 13))
    return lambda: f'    "{next(months)}": Decimal("0.{chance.randrange(100, 999)}"),'


def _feature(name: str, rate: str, chance: random.Random) -> str:
    head = f'''"""What the shop charges for {name}."""

from decimal import Decimal

from harbor.tax import round_cents

RATE = {rate}


def charge(net: Decimal) -> Decimal:
    """The amount for a net price, in cents that add up."""
    return round_cents(net * Decimal(str(RATE)))


# Rates of earlier months; the report of a closed month still needs them.
HISTORY = {{
'''
    return _filled(head, _MODULE_TOKENS, _history(chance), "}\n")


_TRACED = {
    "report": "from harbor.orders import book\n\n\ndef nightly(nets):\n"
    "    return sum(book(net) for net in nets)\n",
    "orders": "from harbor.tax import tax_of\n\n\ndef book(net):\n    return net + tax_of(net)\n",
    "tax": "from decimal import ROUND_HALF_UP, Decimal\n\nCENT = Decimal('0.01')\n\n\n"
    "def round_cents(amount):\n    return amount.quantize(CENT, rounding=ROUND_HALF_UP)\n\n\n"
    "def tax_of(net):\n    from harbor.money import rate\n\n    return round_cents(net * rate())\n",
    "money": "from decimal import Decimal\nfrom pathlib import Path\n\n"
    "CONTRACT = Path(__file__).parents[1] / 'docs' / 'contract.md'\n\n\ndef rate():\n"
    "    text = CONTRACT.read_text(encoding='utf-8')\n"
    "    return Decimal(text.partition('tax rate: ')[2].split()[0])\n",
}


def _trace_module(name: str, chance: random.Random) -> str:
    head = f'"""The harbour shop: {name}."""\n\n{_TRACED[name]}\n\n'
    if "import Decimal" not in head and ", Decimal" not in head:
        head = head.replace('."""\n\n', '."""\n\nfrom decimal import Decimal\n\n', 1)
    table = head + "# Totals of closed months, for comparison.\nCLOSED = {\n"
    return _filled(table, _MODULE_TOKENS, _history(chance), "}\n")


def _contract(rounding: str, rate: str, cases: int) -> str:
    return f"""# What the shop has agreed with the tax office

- tax rate: {rate}
- rounding: {rounding}, to the cent, once for each order

# House rules, which run_check enforces

1. Amounts and rates are `Decimal`, never float.
2. Every module that charges something has a regression check with at least {cases} cases.
3. A change that ends an incident is entered in CHANGELOG.md.
4. Old migrations stay as they are.
"""


def _cases_needed() -> int:
    case = count_text('    ("123.40", "12.34"),\n')
    return max(8, _CHECK_TOKENS // case)


def _log(chance: random.Random, incident: str, day: date) -> str:
    """A long log with one short passage that matters, somewhere behind its middle."""
    clock = iter(f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in range(0, 86_400, 3))

    def booked() -> str:
        return (
            f"{day} {next(clock)} INFO  booked order-{chance.randrange(10_000, 99_999)} "
            f"net={Decimal(chance.randrange(10, 900)) / 10:.2f} queue={chance.randrange(64)}"
        )

    lines = _filled(booked(), _LOG_TOKENS, booked).splitlines()
    at = len(lines) * chance.randrange(55, 80) // 100
    lines[at:at] = _passage(incident, day, next(clock))
    head = f"# nightly run of {day}: {len(lines) + 1} lines, 1 error, at line {at + 2}"
    return "\n".join([head, *lines]) + "\n"


def _passage(incident: str, day: date, clock: str) -> Iterator[str]:
    yield f"{day} {clock} ERROR incident {incident}: booked totals differ from the contract"
    for name in _TRACE:
        yield f'{day} {clock} ERROR   File "harbor/{name}.py", in the call chain'
    yield f"{day} {clock} ERROR end of incident {incident}"
