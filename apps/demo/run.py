"""The demo from beginning to end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from threading import Lock

from rich.console import Console

from ...state.errors import WorkspaceError
from .closing import print_closing
from .expectations import expectations
from .first_process import FirstProcess
from .live_view import LiveView
from .performance import THREAD, perform
from .places import Places
from .plain_view import PlainView
from .project import build_project
from .session import Event
from .tally import Tally

__all__ = ["can_draw", "run_demo"]

_LIVE_PACE = 0.025
_WIDTH = 100


def run_demo(
    *,
    folder: str | PathLike[str] | None = None,
    live: bool | None = None,
    pace: float | None = None,
    seed: int = 7,
    console: Console | None = None,
) -> int:
    """Play the demo and print its closing report.

    Args:
        folder: Where everything is written and kept; must be new or empty. None: a new temporary
            folder.
        live: Whether to draw the live view; None: on a terminal with colours.
        pace: Seconds to rest after each step, for the eye; None: 0.025 with the live view, else 0.
        seed: Chooses the facts that the scripted model has to find out.
        console: Where to print; None: standard output.

    Returns:
        The exit code: 0, or 1 if a node was not visited or an expectation failed.

    Raises:
        LongthreadError: The folder cannot be used.
    """
    console = console or _standard_output()
    if live is None:
        live = can_draw(console)
    if pace is None:
        pace = _LIVE_PACE if live else 0.0
    places = Places(_folder(folder))
    tally = Tally(THREAD)
    view = LiveView(console, tally, pace) if live else PlainView(console, tally, pace)
    one_at_a_time = Lock()

    def emit(event: Event) -> None:
        with one_at_a_time:
            tally.add(event)
            view.show(event)

    try:
        with _without_tracing(), view, FirstProcess(places) as first:
            truth = build_project(places.project, seed)
            outcome = perform(places, truth, first, emit)
    except OSError as error:
        raise WorkspaceError(f"cannot write into {str(places.root)!r}: {error}") from error
    claims = expectations(places, truth, tally, outcome)
    print_closing(console, places, tally, claims)
    return 0 if all(claim.holds for claim in claims) else 1


def can_draw(console: Console) -> bool:
    """Whether a live view can be drawn there, and is wanted."""
    return console.is_terminal and not console.is_dumb_terminal and not console.no_color


def _standard_output() -> Console:
    console = Console()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(width=_WIDTH)  # a pipe has no width of its own, and 80 columns are few


def _folder(given: str | PathLike[str] | None) -> Path:
    """Return the folder to write into, which nobody has written into yet."""
    if given is None:
        return Path(tempfile.mkdtemp(prefix="longthread-demo-"))
    folder = Path(given).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = any(folder.iterdir())
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror
        raise WorkspaceError(
            f"cannot use the folder {str(folder)!r}: {reason}; name a new one"
        ) from error
    if used:
        raise WorkspaceError(f"the folder {str(folder)!r} is not empty; name a new one")
    return folder


@contextmanager
def _without_tracing() -> Iterator[None]:
    """Keep a tracing service that the environment turns on from being called: no network."""
    names = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "false"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
