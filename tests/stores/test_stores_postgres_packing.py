"""What PostgreSQL holds of a checkpoint when it is compressed."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.base import BasePostgresSaver

from longthread.stores.checkpointers import postgres_packing
from longthread.stores.checkpointers.postgres_packing import next_version, packed, unpacked

DIGEST = "75401e409cc66b500ddce95b88d01a24abc06857b4e34d9ca60e088d7c6b4572"

names = st.sampled_from(["messages", "usage", "branch:to:tools", "closed", 'é"|']) | st.text()
versions = st.text("0123456789.abcdef", min_size=1, max_size=20)
inline = st.none() | st.text() | st.integers() | st.booleans()
elsewhere = st.lists(st.integers()) | st.dictionaries(st.text(), st.integers())


@st.composite
def checkpoints(draw: st.DrawFn) -> Checkpoint:
    channels = draw(st.dictionaries(names, versions, max_size=6))
    values = {name: draw(inline | elsewhere) for name in channels if draw(st.booleans())}
    return Checkpoint(
        v=draw(st.sampled_from([1, 4, 5])),
        id=draw(st.uuids().map(str)),
        ts="2026-03-01T10:00:00+00:00",
        channel_values=values,
        channel_versions=channels,  # type: ignore[typeddict-item]
        versions_seen=draw(st.dictionaries(names, st.dictionaries(names, versions), max_size=4)),
        updated_channels=draw(st.none() | st.lists(names)),
    )


metadata = st.dictionaries(
    st.sampled_from(["step", "source", "counters_since_delta_snapshot"]),
    st.dictionaries(names, st.lists(st.integers(), min_size=2, max_size=2), max_size=4),
)


@given(checkpoints(), metadata)
def test_what_is_packed_is_unpacked_as_it_was_and_nothing_is_changed_in_place(
    checkpoint: Checkpoint, about: dict[str, Any]
) -> None:
    given_, told = copy.deepcopy(checkpoint), copy.deepcopy(about)
    stored, stored_metadata = packed(checkpoint, CheckpointMetadata(**about))  # type: ignore[typeddict-item]
    assert (checkpoint, about) == (given_, told)
    row = {"checkpoint": json.loads(json.dumps(stored)), "metadata": stored_metadata, "other": 1}
    read = unpacked(row)
    assert (read["checkpoint"], read["metadata"], read["other"]) == (given_, told, 1)
    assert unpacked({**row, "checkpoint": given_, "metadata": told})["checkpoint"] == given_


@given(checkpoints())
def test_the_server_still_sees_which_values_a_checkpoint_has_in_another_table(
    checkpoint: Checkpoint,
) -> None:
    stored, about = packed(checkpoint, {"counters_since_delta_snapshot": {"messages": (1, 2)}})
    for name, value in checkpoint["channel_values"].items():
        if isinstance(value, list | dict):
            assert stored["channel_versions"][name] == checkpoint["channel_versions"][name]
    assert "counters_since_delta_snapshot" in about  # by which it refuses to prune


def test_versions_grow_whoever_makes_the_next_one() -> None:
    def theirs(current: str | None) -> str:
        return str(BasePostgresSaver.get_next_version(None, current, None))  # type: ignore[arg-type]

    both = [next_version, theirs]
    for first in both:
        for second in both:
            version, seen = None, [""]
            for count in range(40):
                version = (first if count % 3 else second)(version)
                seen.append(version)
            assert seen == sorted(set(seen))
            assert len(set(seen)) == 41


def test_versions_grow_for_as_long_as_a_thread_may_last_and_differ_between_branches() -> None:
    at = "0.00000ff"
    assert next_version(f"{at}abcdefgh") > f"{at}zzzzzzzz"
    assert next_version("0.00fffffzzzzzzzz").startswith("0.0100000")
    assert len({next_version(None) for _ in range(1_000)}) == 1_000
    assert len(next_version(None)) < 18


def test_what_was_packed_by_earlier_versions_refers_to_these_very_bytes() -> None:
    assert hashlib.sha256(postgres_packing._KNOWN).hexdigest() == DIGEST
