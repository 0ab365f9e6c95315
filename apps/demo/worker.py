"""The demo's first process: plays the session until it is killed. Events go to standard output.

Run as `python -m longthread.apps.demo.worker FOLDER`, with `{"thread": …, "text": …}` on standard
input.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ...state.tokenizer import load_tokenizer
from .places import Places
from .session import Event, open_session

__all__: list[str] = []


def _main() -> None:
    events, sys.stdout = sys.stdout, sys.stderr  # nobody else writes between the events
    load_tokenizer()  # while the other side is still busy
    given = json.load(sys.stdin)

    def emit(event: Event) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    with open_session(Places(Path(sys.argv[1])), emit, hold=True) as session:
        session.play(given["thread"], given["text"])


if __name__ == "__main__":
    _main()
