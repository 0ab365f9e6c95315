"""Who is compared: our agent and its peers, each as its own documentation sets it up.

All of them get the same recorded answers and results, the same window, the same summariser with the
same room for a summary, and the same count of tokens, which the peers also decide by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from longthread import CompactionConfig, MaskingConfig
from longthread.apps.replay import Session

from .cost import Cost, added_up, session_cost, unmanaged_cost

if TYPE_CHECKING:
    from .peers.player import Build

__all__ = ["Contestant", "missing_peers", "ours", "peers"]

_PEERS = ("langchain", "deepagents", "langmem")


@dataclass(frozen=True, slots=True)
class Contestant:
    """One line of the comparison.

    Attributes:
        name: What the line is called.
        setting: How it is set up.
        play: Plays a session in a window and says what it costs; of a peer, with another room for
            its summaries if `summary_tokens` says so.
        counted: Whether it counts as a peer to be held against; a setting that loses the
            conversation does not.
    """

    name: str
    setting: str
    play: Callable[..., Cost]
    counted: bool = True


def ours() -> Contestant:
    """Return our agent with its defaults, memory off."""

    def play(session: Session, window: int) -> Cost:
        cost = session_cost(
            session, window=window, masking=MaskingConfig(), compaction=CompactionConfig()
        )
        return cost.against(unmanaged_cost(session))

    return Contestant("longthread", "defaults, memory off", play, counted=False)


def peers(*, all_settings: bool = False, summary_tokens: int | None = None) -> list[Contestant]:
    """Return the peers that are installed.

    Args:
        all_settings: Also the settings that were tried and are dearer or lose more.
        summary_tokens: Room for a summary; None: as much as one of ours may take.
    """
    found: list[Contestant] = []
    if find_spec("langchain"):
        found += _langchain(all_settings)
    if find_spec("deepagents"):
        found += _deepagents(all_settings)
    if find_spec("langmem"):
        found += _langmem(all_settings)
    return [replace(one, play=partial(one.play, summary_tokens=summary_tokens)) for one in found]


def missing_peers() -> list[str]:
    """Return what to say about peers that are not installed; nothing if all are."""
    missing = [name for name in _PEERS if not find_spec(name)]
    if not missing:
        return []
    return [f'Not installed: {", ".join(missing)}; pip install -e ".[bench]" for all the peers.']


def _langchain(all_settings: bool) -> list[Contestant]:
    from .peers.langchain_agent import summarization_agent

    made = [
        _peer(
            "SummarizationMiddleware",
            "create_agent, trigger 0.85 and keep 0.10 of the window, all old messages summarised",
            summarization_agent(trigger=0.85, keep=0.1),
        ),
        _peer(
            "SummarizationMiddleware, trimmed",
            "the same, but the summariser sees the last 4,000 tokens alone, as it does by default: "
            "what is older is lost",
            summarization_agent(trigger=0.85, keep=0.1, trim=4_000),
            counted=False,
        ),
    ]
    if all_settings:
        made += [
            _peer(
                "SummarizationMiddleware, 20 messages",
                "create_agent, trigger 0.8 of the window, keep 20 messages",
                summarization_agent(trigger=0.8, keep=20),
            ),
            _peer(
                "SummarizationMiddleware, 0.3",
                "create_agent, trigger 0.8 and keep 0.3 of the window",
                summarization_agent(trigger=0.8, keep=0.3),
            ),
            _peer(
                "SummarizationMiddleware + ClearToolUsesEdit",
                "trigger 0.85, keep 0.10; results but the last 3 are cleared above half the window",
                summarization_agent(trigger=0.85, keep=0.1, clear=0.5),
            ),
        ]
    return made


def _deepagents(all_settings: bool) -> list[Contestant]:
    from .peers.deep_agent import deep_agent, lean_deep_agent

    made = [
        _peer(
            "deepagents",
            "its summarization (0.85 and 0.10 of the window) and its filesystem with read_file "
            "alone on create_agent; results above a tenth of the window evicted",
            lean_deep_agent(evict=0.1),
        )
    ]
    if all_settings:
        made.append(_peer("create_deep_agent", "as it comes, all its tools", deep_agent()))
    return made


def _langmem(all_settings: bool) -> list[Contestant]:
    from .peers.langmem_graph import summarization_graph

    made = [
        _peer(
            "langmem",
            "SummarizationNode, max_tokens the window, max_tokens_before_summary 0.7 of it",
            summarization_graph(before=0.7),
            system_in_state=True,
        )
    ]
    if all_settings:
        made.append(
            _peer(
                "langmem, 0.4",
                "the same, max_tokens_before_summary 0.4 of the window",
                summarization_graph(before=0.4),
                system_in_state=True,
            )
        )
    return made


def _peer(
    name: str, setting: str, build: Build, *, counted: bool = True, system_in_state: bool = False
) -> Contestant:
    from .peers.player import play_peer

    def play(session: Session, window: int, summary_tokens: int | None = None) -> Cost:
        played = play_peer(
            session,
            build,
            window=window,
            summary_tokens=summary_tokens,
            system_in_state=system_in_state,
        )
        return added_up(
            session,
            played.prompts,
            played.requests,
            played.summaries,
            window=window,
            unmanaged=unmanaged_cost(session),
        )

    return Contestant(name, setting, play, counted)
