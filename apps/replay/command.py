"""`longthread replay`: from the options to the report."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape

from ...graphs.models import resolve_model
from ...state.config import CompactionConfig, MaskingConfig, ToolResultEvictionConfig
from ...state.errors import ConfigurationError, LongthreadError
from .document import document
from .measures import Replay
from .player import play_session
from .plot import check_plot, write_plot
from .sessions import find_sessions, read_session
from .tables import request_table, session_table, total_table

__all__ = ["ReplayOptions", "run_replay"]

_WIDE, _PLAIN_WIDTH = 100, 110


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """What was asked for on the command line; see `longthread replay --help`."""

    files: Sequence[str]
    window: int | None = None
    as_json: bool = False
    plot: Path | None = None
    model: str | None = None
    requests: bool | None = None
    masking: bool = True
    masking_batch: str = "auto"
    compaction: bool = True
    eviction: bool = True
    check: bool = False


def run_replay(options: ReplayOptions) -> None:
    """Read all files, play them, print the report, write the plot.

    Raises:
        LongthreadError: A file, an option, the model or a session is at fault; says which.
        OSError: The plot or the temporary folder cannot be written.
    """
    masking, compaction = _masking(options), _compaction(options)
    eviction = ToolResultEvictionConfig() if options.eviction else None
    if options.plot is not None:
        check_plot(options.plot)
    sessions = [read_session(path) for path in find_sessions(options.files)]
    console = _console()
    narrow = console.width < _WIDE
    replays: list[Replay] = []
    by_request = len(sessions) == 1 if options.requests is None else options.requests
    with _progress() as progress:
        for at, session in enumerate(sessions, start=1):
            name = f"{session.path.name} ({at} of {len(sessions)})"
            with _quiet_log() as warnings:
                try:
                    replay = play_session(
                        session,
                        window=options.window,
                        masking=masking,
                        compaction=compaction,
                        eviction=eviction,
                        check=options.check,
                        on_request=partial(progress, name),
                    )
                except LongthreadError as error:
                    raise LongthreadError(f"{session.path}: {error}", code=error.code) from error
            replays.append(replay)
            for warning in warnings:
                print(f"{session.path}: {warning}", file=sys.stderr)
            if not options.as_json:
                if by_request:
                    console.print(request_table(replay, narrow=narrow))
                console.print(session_table(replay, narrow=narrow))
    if options.as_json:
        print(
            json.dumps(document(replays, policy=_policy(options, masking)), indent=2, default=str)
        )
    elif len(replays) > 1:
        console.print(total_table(replays, narrow=narrow))
    if options.plot is not None:
        write_plot(replays, options.plot)
        if not options.as_json:
            console.print(f"plot: {options.plot}", markup=False, highlight=False, soft_wrap=True)


def _masking(options: ReplayOptions) -> MaskingConfig | None:
    batch: Literal["auto"] | int = "auto"
    if options.masking_batch != "auto":
        try:
            batch = int(options.masking_batch)
        except ValueError:
            batch = 0
        if batch < 1:
            raise ConfigurationError(
                f"--masking-batch={options.masking_batch!r}: use auto, or a number of steps, 1 or "
                "more"
            )
        if not options.masking:
            raise ConfigurationError("--masking-batch has no effect with --no-masking: drop one")
    return MaskingConfig(batch=batch) if options.masking else None


def _compaction(options: ReplayOptions) -> CompactionConfig | None:
    if options.model is not None and not options.compaction:
        raise ConfigurationError("--model has no effect with --no-compaction: drop one")
    if not options.compaction:
        return None
    if options.model is None:
        return CompactionConfig()
    return CompactionConfig(model=resolve_model(options.model, field="--model"))


def _policy(options: ReplayOptions, masking: MaskingConfig | None) -> dict[str, Any]:
    return {
        "masking": masking.batch if masking is not None else None,
        "compaction": options.compaction,
        "eviction": options.eviction,
        "summariser": (options.model or "extractive") if options.compaction else None,
    }


def _console() -> Console:
    """Return a console for the tables; without a terminal it is wide enough for all of them."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Show on a terminal's standard error what is being played."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda name, request: None  # noqa: ARG005
        return
    with console.status("") as status:
        yield lambda name, request: status.update(f"{escape(name)}, request {request}")


@contextmanager
def _quiet_log() -> Iterator[list[str]]:
    """Collect the package's warnings instead of printing them into the middle of a table."""
    log = logging.getLogger("longthread")
    warnings: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warnings.append(record.getMessage())

    handler = Collect(logging.WARNING)
    propagate, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield warnings
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
