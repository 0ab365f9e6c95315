"""The agent's part of the script: one step, decided from the request and nothing else.

Where the work stands is read from the last step; what was found out earlier is read from wherever
the request still has it: an old message, the summary, or memory. With a wrong context the numbers
below come out wrong, the project's checks fail, and the demo says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ...state.body import INTERRUPTED
from ...state.counting import text_of
from .regression import check_source

__all__ = ["Request", "next_step"]

_REFERENCE = "<HARNESS_CONTEXT>"
_INCIDENT = r"incident (E-\d+)"
_TRACE = r"the calls go ([^\n]+)"
_MODE = r"wants (ROUND_\w+)"
_RATE = r"at a tax rate of (0\.\d+)"
_CULPRIT = r"(\S+) says rounding="
_CENTS = r"are off by (\d+) cents"
_SINCE = r"cents, from (\S+) on"
_RELEASES = r"releases go out on (\w+ at [\d:]+)"
Call = tuple[str, dict[str, Any]]


class Lost(Exception):
    """Something that was found out is not in the request any more."""


class Request:
    """What the model was sent, as it reads it.

    Args:
        messages: The messages.
    """

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = messages
        self.texts = [text_of(message.content) for message in messages]

    @property
    def task(self) -> str:
        """What the user said last."""
        return next(
            text
            for message, text in zip(reversed(self.messages), reversed(self.texts), strict=True)
            if message.type == "human" and not text.startswith(_REFERENCE)
        )

    @property
    def calls(self) -> list[Call]:
        """The calls that can still be seen, the oldest first."""
        answers = (m for m in self.messages if isinstance(m, AIMessage))
        return [(call["name"], call["args"]) for m in answers for call in m.tool_calls]

    def last_step(self) -> list[tuple[str, dict[str, Any], str]]:
        """Return name, arguments and result of each call of the last step."""
        results: dict[str, str] = {}
        for message in reversed(self.messages):
            if isinstance(message, ToolMessage):
                results[message.tool_call_id] = text_of(message.content)
            elif isinstance(message, AIMessage):
                calls = message.tool_calls
                return [(c["name"], c["args"], results.get(c["id"] or "", "")) for c in calls]
            else:
                break
        return []

    def find(self, pattern: str) -> str:
        """Return what the newest match has in its group.

        Raises:
            Lost: Nothing matches any more.
        """
        for text in reversed(self.texts):
            if found := re.findall(pattern, text):
                return str(found[-1])
        raise Lost(pattern)


def next_step(messages: Sequence[BaseMessage]) -> AIMessage:
    """Decide the agent's next step."""
    try:
        return _decided(Request(messages))
    except Lost as lost:
        return AIMessage(f"I give up: nothing that I was sent says {str(lost)!r}.")


def _decided(request: Request) -> AIMessage:
    step = request.last_step()
    if not step:
        if "run_check" not in request.task:
            return AIMessage(_from_memory(request))
        return _says("I look at what there is.", ("list_files", {}))
    again = [(name, args) for name, args, result in step if result == INTERRUPTED]
    if again:
        return _says("That was interrupted; once more.", *again)
    name, args, result = step[-1]
    return _AFTER[name](request, args, result)


def _says(text: str, *calls: Call) -> AIMessage:
    return AIMessage(
        text,
        tool_calls=[{"name": name, "args": args, "id": None} for name, args in calls],
    )


def _after_list(_request: Request, _args: dict[str, Any], result: str) -> AIMessage:
    log = _found(r"(logs/\S+)", result)
    return _says(f"The log of the night comes first: {log}.", ("open_file", {"path": log}))


def _after_open(request: Request, args: dict[str, Any], result: str) -> AIMessage:
    path = args["path"]
    if path.startswith("logs/"):
        # All that is shown of the log is its head and tail; the head says where the error is.
        line = _found(r"error, at line (\d+)", result)
        stored = _found(r"full text at (\S+?);", result)
        where = {"path": stored, "offset": int(line) - 2, "limit": 7}
        return _says(f"The one error is at line {line}; I read just that.", ("read_file", where))
    if path.startswith("docs/"):
        rate, mode = _found(r"tax rate: (\S+)", result), _found(r"rounding: (\w+)", result)
        found = f"Finding: docs/contract.md wants {mode} at a tax rate of {rate}."
        return _trace_on(request, found)
    if "Finding: booked totals" in "".join(request.texts):
        return _mend(request, path, result)
    if path.startswith("data/"):
        return _add_up(request)
    wrong = re.search(r"rounding=(ROUND_\w+)", result)
    return _trace_on(
        request, f"Finding: {path} says {wrong[0]}." if wrong else f"Nothing wrong in {path}."
    )


def _after_page(_request: Request, _args: dict[str, Any], result: str) -> AIMessage:
    trace = " > ".join(re.findall(r'File "([^"]+)"', result))
    incident = _found(r"incident (E-\d+)", result)
    return _says(
        f"Finding: incident {incident}: booked totals differ; the calls go {trace}",
        ("open_file", {"path": "docs/contract.md"}),
    )


def _trace_on(request: Request, said: str) -> AIMessage:
    """Read the next module of the call chain, and at its end the days' bookings."""
    opened = {args["path"] for name, args in request.calls if name == "open_file"}
    trace = request.find(_TRACE).split(" > ")
    left = [path for path in trace if path not in opened]
    if left:
        return _says(said, ("open_file", {"path": left[0]}))
    days = sorted(set(re.findall(r"data/\S+\.csv", "\n".join(request.texts))))
    return _says(
        f"{said} Now the bookings of all days, side by side.",
        *(("open_file", {"path": day}) for day in days),
    )


def _add_up(request: Request) -> AIMessage:
    """Compare what was booked with what the contract, read some steps ago, makes of it."""
    rate, mode = request.find(_RATE), request.find(_MODE)
    off: dict[str, Decimal] = {}
    for _, args, result in request.last_step():
        if "full text at" in result:
            raise Lost(f"all bookings of {args['path']}")
        for net, tax in re.findall(r"^order-\d+,([\d.]+),([\d.]+)$", result, re.MULTILINE):
            due = (Decimal(net) * Decimal(rate)).quantize(Decimal("0.01"), mode)
            off[args["path"]] = off.get(args["path"], Decimal(0)) + Decimal(tax) - due
    wrong = sorted(path for path, cents in off.items() if cents)
    first = _found(r"(\d{4}-\d\d-\d\d)", wrong[0] if wrong else "")
    culprit, before = request.find(_CULPRIT), request.find(r"says (rounding=\w+)")
    return _says(
        f"Finding: booked totals are off by {sum(off.values()) * 100:.0f} cents, from {first} on.\n"
        f"Decision: {culprit} gets rounding={mode}, as in the contract.",
        (
            "edit_file",
            {
                "path": culprit,
                "old": f"(CENT, {before})",
                "new": f'(CENT, rounding="{mode}")  # [{_tag(request)}]',
            },
        ),
    )


def _mend(request: Request, path: str, source: str) -> AIMessage:
    """Make a Decimal of the one float in a module."""
    line = _found(r"^(RATE = [\d.]+)$", source)
    number = line.rpartition(" ")[2]
    mended = f'RATE = Decimal("{number}")  # [{_tag(request)}]\n'
    edit = {"path": path, "old": f"{line}\n", "new": mended}
    return _says(f"{path}: {number} becomes a Decimal.", ("edit_file", edit))


def _after_change(_request: Request, _args: dict[str, Any], result: str) -> AIMessage:
    return _says(f"Done: {result}.", ("run_check", {}))


def _after_check(request: Request, _args: dict[str, Any], result: str) -> AIMessage:
    failed = re.search(r"^FAIL (\S+): (.*)$", result, re.MULTILINE)
    if failed is None:
        return AIMessage(_report(request, result))
    path, problem = failed.groups()
    if "float" in problem:
        return _says(f"Next: {path}.", ("open_file", {"path": path}))
    if "no entry" in problem:
        return _milestone(request)
    if "missing" in problem:
        mode, incident = request.find(_MODE), request.find(_INCIDENT)
        source = check_source(path, problem, mode, incident, _tag(request))
        return _says(f"Next: {path}.", ("write_file", {"path": path, "content": source}))
    return AIMessage(f"I give up: {path}: {problem}")


def _milestone(request: Request) -> AIMessage:
    """Enter the change, and look twice, all at once."""
    what = f"{request.find(_INCIDENT)}: {request.find(_CULPRIT)} rounds by the contract"
    return _says(
        "The repair is complete: I enter it, look for leftovers and check again, all at once.",
        ("append_changelog", {"entry": f"{what} [{_tag(request)}]"}),
        ("search_text", {"text": "ROUND_HALF_UP)"}),
        ("run_check", {}),
    )


def _report(request: Request, result: str) -> str:
    """Answer the user. By now most of this is known from the summary only."""
    return (
        f"Incident {request.find(_INCIDENT)}: {request.find(_CULPRIT)} did not round by "
        f"{request.find(_MODE)}; {request.find(_CENTS)} cents since {request.find(_SINCE)}. "
        f"It is repaired, and {result.splitlines()[-1]}.\n"
        f"Decision: every line changed for {request.find(_INCIDENT)} is signed [{_tag(request)}]."
    )


def _from_memory(request: Request) -> str:
    """Answer a question in a new thread, where memory is all there is."""
    return (
        f"It was incident {request.find(_INCIDENT)} in {request.find(_CULPRIT)}: "
        f"{request.find(_CENTS)} cents since {request.find(_SINCE)}. The contract wants "
        f"{request.find(_MODE)}. Releases go out on {request.find(_RELEASES)}."
    )


def _tag(request: Request) -> str:
    return _found(r"\[(H-\d+)\]", request.task)


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise Lost(pattern)
    return match[1]


_AFTER: dict[str, Callable[[Request, dict[str, Any], str], AIMessage]] = {
    "list_files": _after_list,
    "open_file": _after_open,
    "read_file": _after_page,
    "edit_file": _after_change,
    "write_file": _after_change,
    "run_check": _after_check,
}
