"""What the scripted model answers on the side: facts for the ledger, summaries, MEMORY.md.

Each answer is made from the request alone. A line that says `Finding: …`, `Decision: …` or
`Remember for later: …` is what this model considers worth keeping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from langchain_core.messages import BaseMessage

from ...state.counting import text_of
from ...state.prompts import (
    DEFAULT_CONSOLIDATION_PROMPT,
    DEFAULT_FLUSH_PROMPT,
    DEFAULT_SUMMARY_PROMPT,
    asks_for_addition,
)
from ...stores.memory.ledger import ledger_date

__all__ = ["Purpose", "purpose_of", "side_answer"]

Purpose = Literal["agent", "flush", "summary", "consolidation"]

_OPENINGS: dict[str, Purpose] = {
    DEFAULT_FLUSH_PROMPT.partition("\n")[0]: "flush",
    DEFAULT_SUMMARY_PROMPT.partition("\n")[0]: "summary",
    DEFAULT_CONSOLIDATION_PROMPT.partition("\n")[0]: "consolidation",
}
_KEPT = re.compile(r"(?:Finding|Decision|Remember for later): [^\n]+")
_EDITED = re.compile(r'\[calls (?:edit|write)_file \{"path": "([^"]+)"')
_REQUEST = re.compile(r"^\[user\]\n(.+)$", re.MULTILINE)


def purpose_of(request: Sequence[BaseMessage]) -> Purpose:
    """Tell from its first line what a request is for."""
    opening = text_of(request[0].content).partition("\n")[0]
    return _OPENINGS.get(opening, "agent")


def side_answer(purpose: Purpose, request: Sequence[BaseMessage]) -> str:
    """Answer a request that is not the agent's own."""
    prompt = text_of(request[-1].content)
    if purpose == "flush":
        return _facts(prompt)
    if purpose == "summary":
        return _summary(prompt)
    return _memory(prompt)


def _facts(prompt: str) -> str:
    """The facts in the conversation that memory does not have, one bullet each."""
    known, talk = _inside("known", prompt), _inside("conversation", prompt)
    new = [fact for fact in _kept(talk) if fact not in known]
    return "\n".join(f"- {fact}" for fact in new) or "NO_REPLY"


def _summary(prompt: str) -> str:
    """The previous summary, brought up to date, or what is to be added to it."""
    before, talk = _inside("previous_summary", prompt), _inside("messages", prompt)
    if asks_for_addition(prompt):
        before = ""
    intent = _REQUEST.findall(talk)[-1:] or _section(before, "Intent")
    files = _unique([*_section(before, "Files and resources"), *_EDITED.findall(talk)])
    sections = {
        "Intent": intent,
        "Facts": _unique([*_section(before, "Facts"), *_kept(talk)]),
        "Files and resources": files,
        "Open work": ["run_check says what still fails."],
    }
    return "\n".join(
        f"## {title}\n" + "\n".join(f"- {line}" for line in lines)
        for title, lines in sections.items()
        if lines
    )


def _memory(prompt: str) -> str:
    """MEMORY.md with what is new in the ledgers, under the date of its ledger."""
    if not (ledgers := _inside("ledgers", prompt)):
        return _inside("memory", prompt)
    entries = [_inside("memory", prompt).strip()]
    for piece in re.split(r"^(?=memory/)", ledgers, flags=re.MULTILINE):
        day = ledger_date(piece.partition("\n")[0])
        new = [fact for fact in _kept(piece) if fact not in entries[0]]
        if day is not None and new:
            bullets = "\n".join(f"- {fact}" for fact in new)
            entries.append(f"<!-- {day.isoformat()} -->\n{bullets}")
    return "\n\n".join(entry for entry in entries if entry)


def _kept(text: str) -> list[str]:
    return _unique(_KEPT.findall(text))


def _inside(tag: str, text: str) -> str:
    return text.partition(f"<{tag}>\n")[2].rpartition(f"\n</{tag}>")[0]


def _section(summary: str, title: str) -> list[str]:
    body = summary.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.removeprefix("- ") for line in body.splitlines() if line.strip()]


def _unique(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))
