"""The channels of a thread's state."""

from __future__ import annotations

from typing import get_type_hints

from langgraph.channels import DeltaChannel

from longthread.state.channels import DELTA_CHANNELS, ThreadState


def test_every_channel_that_is_stored_as_deltas_is_among_those_that_are_written_whole() -> None:
    hints = get_type_hints(ThreadState, include_extras=True)
    delta = {
        name
        for name, hint in hints.items()
        if any(isinstance(mark, DeltaChannel) for mark in getattr(hint, "__metadata__", ()))
    }
    assert delta == set(DELTA_CHANNELS)
