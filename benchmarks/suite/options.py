"""What a run of the suite was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Options"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """From the command line; see `python -m benchmarks --help`.

    Attributes:
        recorded: Recorded sessions: `.jsonl` files or folders of them.
        kinds: Kinds of generated sessions.
        seeds: Of the generated sessions; empty: chosen by the part.
        tokens: Lengths of the generated sessions; empty: chosen by the part.
        all_settings: Also the settings of peers that turned out dearer or to lose more.
        peer_summary_tokens: Room for a peer's summary; None: as much as one of ours may take.
        full: The long runs, which the targets are about.
        tiny: So small that the figures mean nothing: for tests.
        out: Folder for what is written.
    """

    recorded: Sequence[str] = ()
    kinds: Sequence[str] = ("coding", "service", "research")
    seeds: Sequence[int] = ()
    tokens: Sequence[int] = ()
    all_settings: bool = False
    peer_summary_tokens: int | None = None
    full: bool = False
    tiny: bool = False
    out: Path = field(default=Path("benchmark-results"))

    def size(self, tiny: int, small: int, full: int) -> int:
        """Return the one of three sizes that fits the run."""
        return tiny if self.tiny else full if self.full else small
