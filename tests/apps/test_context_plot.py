"""Where a thread's tokens went: the figures, and the picture of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, say, thread
from parents import around, inside, journal

from longthread import (
    CompactionConfig,
    LongthreadError,
    MaskingConfig,
    acontext_history,
    context_history,
    context_policy,
    plot_context,
    project_context,
)
from longthread.graphs.compiled import AgentGraph
from longthread.state.counting import count_message
from longthread.state.errors import ConfigurationError

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)


def grown(tmp_path: Path, steps: int = 12, **options: Any) -> AgentGraph:
    script = Scripted(*(calls(f"c{n}") for n in range(steps)), "done")
    options = {"memory": None, "system_prompt": "Be kind.", "reference": ["A rule."], **options}
    graph = agent(script, tmp_path, compaction=SOON, **options)
    graph.invoke(say("go"), {**thread(), "recursion_limit": 200})
    return graph


def test_every_point_is_what_the_model_would_have_been_sent(tmp_path: Path) -> None:
    graph = grown(tmp_path)
    points = context_history(graph, thread(), limit=1_000)
    states = {
        s.config["configurable"]["checkpoint_id"]: s for s in graph.get_state_history(thread())
    }
    assert [p.journal_messages for p in points] == sorted(p.journal_messages for p in points)
    for point in points:
        values = states[point.checkpoint_id].values
        assert point.journal_messages == len(values["messages"])
        assert bool(point.parts["summary"]) == bool(values.get("compaction", {}).get("summary"))
        request = project_context(values, context_policy(graph))
        assert point.tokens == pytest.approx(
            point.parts["tools"] + sum(map(count_message, request)), abs=2
        )
    assert points[-1].generation >= 1
    assert points[-1].tokens < points[-1].whole
    assert points[0].tokens == points[0].whole


def test_a_long_life_is_sampled_evenly_from_its_first_to_its_last_checkpoint(
    tmp_path: Path,
) -> None:
    graph = grown(tmp_path)
    everything = context_history(graph, thread(), limit=1_000)
    few = context_history(graph, thread(), limit=5)
    assert len(few) <= 5
    assert few[-1] == everything[-1]


def test_sealed_messages_count(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path, memory=None, compaction=SOON, journal_window=12)
    for _ in range(20):
        graph.invoke(say("hi"), thread())
    assert graph.get_state(thread()).values["sealed"]["count"]
    assert context_history(graph, thread())[-1].journal_messages == 40


async def test_the_asynchronous_twin_says_the_same(tmp_path: Path) -> None:
    graph = grown(tmp_path)
    assert await acontext_history(graph, thread()) == context_history(graph, thread())


async def test_an_agent_inside_another_graph_has_a_history_too(tmp_path: Path) -> None:
    parent = around(Scripted(*(calls(f"c{n}") for n in range(6)), "done"), tmp_path)
    for said in ("go", "on"):
        parent.invoke(say(said), thread())
    points = context_history(parent, inside("helper"))
    assert points[-1].journal_messages == len(journal(parent)) == 16
    assert [point.journal_messages for point in points[:3]] == [1, 3, 5]
    assert await acontext_history(parent, inside("helper")) == points
    with pytest.raises(LongthreadError, match="checkpoint_ns='nobody'"):
        context_history(parent, inside("nobody"))


def test_what_is_kept_out_and_what_is_sent_make_up_the_whole(tmp_path: Path) -> None:
    def look(at: str) -> str:
        """Look at something long."""
        return f"saw {at} " * 50

    masking = MaskingConfig(turns=1, batch=1)
    points = context_history(grown(tmp_path, 30, tools=[look], masking=masking), thread())
    assert any(point.masked for point in points)
    assert any(point.summarised for point in points)
    for point in points:
        kept_out = point.masked + point.evicted + point.summarised
        assert point.tokens + kept_out >= point.whole


def test_a_picture_shows_each_history_in_a_panel_of_its_own(tmp_path: Path) -> None:
    histories = {
        name: context_history(grown(tmp_path / name, masking=masking), thread())
        for name, masking in (("a", None), ("b", None))
    }
    figure = plot_context(histories, title="Two of them")
    assert [axes.get_title() for axes in figure.axes] == ["a", "b"]
    target = tmp_path / "context.png"
    figure.savefig(target)
    assert target.stat().st_size > 5_000
    assert len(plot_context(histories["a"]).axes) == 1


@pytest.mark.parametrize("nothing", [[], {}, {"a": []}])
def test_nothing_to_draw_is_said(nothing: Any) -> None:
    with pytest.raises(ConfigurationError, match="nothing to draw"):
        plot_context(nothing)


def test_a_graph_without_a_checkpointer_has_no_history(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path, checkpointer=None)
    with pytest.raises(ConfigurationError, match="no checkpointer"):
        context_history(graph, thread())


def test_a_notebook_shows_the_picture_by_itself(tmp_path: Path) -> None:
    figure = plot_context(context_history(grown(tmp_path), thread()))
    drawn: Any = getattr(figure, "_repr_png_", None)
    assert drawn().startswith(b"\x89PNG")
