"""Recorded sessions, played again through the real agent graph and measured.

`read_session` reads a recording, `play_session` plays and measures it, `PromptMeter` prices any
series of requests; notebooks and benchmarks use the three of them too.
"""

from __future__ import annotations

from .measures import Measured, Replay, Totals
from .player import ReplayError, default_window, play_session
from .pricing import Priced, Prices, PromptMeter
from .sessions import Session, SessionError, Step, find_sessions, parse_session, read_session

__all__ = [
    "Measured",
    "Priced",
    "Prices",
    "PromptMeter",
    "Replay",
    "ReplayError",
    "Session",
    "SessionError",
    "Step",
    "Totals",
    "default_window",
    "find_sessions",
    "parse_session",
    "play_session",
    "read_session",
]
