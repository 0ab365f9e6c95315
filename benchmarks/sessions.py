"""Invented sessions of three kinds of agent, in the chat format of the recorded ones.

    python -m benchmarks.sessions FOLDER [--kinds coding service research] [--seeds 1 2 3]
                                         [--tokens 100000]

writes `coding-1-100k.jsonl` and so on: one message a line, as `longthread replay` reads them. The
same kind, seed and size give the same bytes anywhere. Sizes of results are heavy-tailed; how long
ago an answer's identifiers were last seen follows what recorded sessions show (see
`session_recorder`), with a few references to the very beginning.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from longthread.apps.replay import Session, parse_session

from .session_recorder import Message
from .sessions_coding import coding_session
from .sessions_research import research_session
from .sessions_service import service_session

__all__ = ["KINDS", "generated", "main", "session_messages"]

KINDS: dict[str, Callable[[int, int], list[Message]]] = {
    "coding": coding_session,
    "service": service_session,
    "research": research_session,
}


def session_messages(kind: str, *, seed: int, tokens: int) -> list[Message]:
    """Return an invented session.

    Args:
        kind: `coding`, `service` or `research`.
        seed: Same seed, same session.
        tokens: How long it becomes, roughly.
    """
    return KINDS[kind](seed, tokens)


def generated(kind: str, *, seed: int, tokens: int) -> Session:
    """Return an invented session, ready to be played."""
    return parse_session(
        _lines(session_messages(kind, seed=seed, tokens=tokens)), _path(kind, seed, tokens)
    )


def _lines(messages: list[Message]) -> str:
    return "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in messages)


def _path(kind: str, seed: int, tokens: int) -> Path:
    return Path(f"{kind}-{seed}-{tokens // 1000}k.jsonl")


def main() -> None:
    """Write sessions into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--tokens", type=int, default=100_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for kind in options.kinds:
        for seed in options.seeds:
            path = options.folder / _path(kind, seed, options.tokens)
            messages = session_messages(kind, seed=seed, tokens=options.tokens)
            path.write_text(_lines(messages), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
