"""By its id a message replaces an earlier one: in the journal, in a parent's, in a reader's list.

Some servers give every answer the same id; so does LangChain's cache for the same request.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, contents, say, thread
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from longthread import CompactionConfig, ThreadJournal, agent_node, create_agent_graph
from longthread.graphs.middleware import ContextMiddleware, ContextState
from longthread.graphs.scripted import ScriptedModel
from longthread.stores import segments

Said = list[tuple[str | None, str]]


class Streaming(ScriptedModel):
    """A server that streams, and gives every answer the same id."""

    def _stream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> Iterator[ChatGenerationChunk]:
        given = self.script(messages)
        answer = AIMessage(given) if isinstance(given, str) else given
        assert isinstance(answer, AIMessage)
        for word in str(answer.content).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} ", id=answer.id))
        chunks: Any = [
            {"name": c["name"], "args": '{"at": "x"}', "id": c["id"], "index": 0}
            for c in answer.tool_calls
        ]
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", id=answer.id, tool_call_chunks=chunks)
        )


def answers(number: int) -> Scripted:
    return Scripted(*[AIMessage(f"answer number {i}", id="same") for i in range(number)])


def make(script: Scripted, tmp_path: Path, *, streams: bool, **options: Any) -> Any:
    options.setdefault("checkpointer", InMemorySaver())
    model = Streaming(script=script) if streams else script.model
    return create_agent_graph(
        model, [look], workspace=tmp_path / "workspace", memory=None, **options
    )


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def heard(chunks: list[tuple[Any, Any]]) -> Said:
    """Return what a reader has in the end that puts together what has the same id."""
    found: dict[str | None, str] = {}
    for chunk, _ in chunks:
        if isinstance(chunk, (AIMessage, AIMessageChunk)) and chunk.content:
            found[chunk.id] = found.get(chunk.id, "") + str(chunk.content)
    return [(message_id, text.strip()) for message_id, text in found.items()]


def said(graph: Any) -> Said:
    journal = graph.get_state(thread()).values["messages"]
    return [
        (m.id, str(m.content).strip()) for m in journal if m.type == "ai" and str(m.content).strip()
    ]


@pytest.mark.parametrize("streams", [True, False])
def test_a_stream_shows_every_answer_once_under_the_id_it_has_in_the_journal(
    streams: bool, tmp_path: Path
) -> None:
    graph = make(answers(4), tmp_path, streams=streams)
    chunks: list[Any] = []
    for i in range(4):
        chunks += graph.stream(say(f"question {i}"), thread(), stream_mode="messages")
    assert [text for _, text in said(graph)] == [f"answer number {i}" for i in range(4)]
    assert heard(chunks) == said(graph)


async def test_so_it_does_asynchronously_and_within_one_call(tmp_path: Path) -> None:
    first = AIMessage("I look", tool_calls=calls("x").tool_calls, id="same")
    graph = make(Scripted(first, AIMessage("I saw", id="same")), tmp_path, streams=True)
    chunks = [c async for c in graph.astream(say("go"), thread(), stream_mode="messages")]
    assert [text for _, text in said(graph)] == ["I look", "I saw"]
    assert heard(chunks) == said(graph)


def test_an_answer_with_the_id_of_a_sealed_one_is_not_taken_away(tmp_path: Path) -> None:
    graph = make(
        answers(12),
        tmp_path,
        streams=True,
        journal_window=6,
        context_window=8_000,
        compaction=CompactionConfig(trigger_messages=4, keep_messages=2, keep_tokens=0),
    )
    chunks: list[Any] = []
    for i in range(12):
        chunks += graph.stream(say(f"question {i} " * 60), thread(), stream_mode="messages")
    state = graph.get_state(thread()).values
    assert state["sealed"]["count"] > 0
    workspace = graph.builder.nodes["recall"].runnable.workspace
    history = ThreadJournal(graph.checkpointer, workspace=workspace).history("t", 100)
    told = [entry.text.strip() for entry in history]
    assert [t for t in told if t.startswith("answer")] == [f"answer number {i}" for i in range(12)]
    assert [text for _, text in heard(chunks)] == [f"answer number {i}" for i in range(12)]


def test_a_cached_answer_leaves_the_earlier_one_as_it_was(tmp_path: Path) -> None:
    script = Scripted(AIMessage("the same", id="same"))
    graph = create_agent_graph(
        script.model.model_copy(update={"cache": InMemoryCache()}),
        system_prompt="Be brief.",
        workspace=tmp_path,
        memory=None,
        checkpointer=InMemorySaver(),
        compaction=None,
    )
    chunks = list(graph.stream(say("go"), thread(), stream_mode="messages"))
    before = said(graph)
    other = list(graph.stream(say("go"), thread("other"), stream_mode="messages"))
    assert len(script.requests) == 1  # the second came out of the cache
    assert said(graph) == before
    assert [text for _, text in heard(chunks)] == [text for _, text in heard(other)] == ["the same"]


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("options", [{}, {"input": lambda _: "do it"}])
def test_two_agents_of_one_parent_do_not_overwrite_each_other(
    options: dict[str, Any], parallel: bool, tmp_path: Path
) -> None:
    builder = StateGraph(MessagesState)
    for name in ("one", "two"):
        script = Scripted(AIMessage(f"from {name}", id="same"))
        made = make(script, tmp_path / name, streams=True)
        builder.add_node(name, agent_node(made, **options))
    builder.add_edge(START, "one")
    builder.add_edge(*((START, "two") if parallel else ("one", "two")))
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    for number in (1, 2):
        config: Any = thread()
        chunks = list(parent.stream(say("go"), config, stream_mode="messages", subgraphs=True))
        journal = parent.get_state(config).values["messages"]
        told = [text.strip() for text in contents(journal)]
        assert told == ["go", "from one", "from two"] * number
        shown = heard([chunk for _, chunk in chunks])
        assert sorted(text for _, text in shown) == ["from one", "from two"]
        assert {message_id for message_id, _ in shown} == {m.id for m in journal[-2:]}


@pytest.mark.parametrize("read", [True, False])
def test_agents_of_one_parent_that_share_a_cache_do_not_overwrite_each_other(
    read: bool, tmp_path: Path
) -> None:
    script = Scripted("the same")  # with the id that LangChain made for the first of them
    model = script.model.model_copy(update={"cache": InMemoryCache()})
    builder = StateGraph(MessagesState)
    for name in ("one", "two"):
        made = create_agent_graph(model, workspace=tmp_path / name, memory=None)
        builder.add_node(name, agent_node(made, input=lambda _: "do it"))
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    mode: Any = "messages" if read else "updates"
    chunks = list(parent.stream(say("go"), thread(), stream_mode=mode, subgraphs=True))
    journal = parent.get_state(thread()).values["messages"]
    assert len(script.requests) == 1
    assert contents(journal) == ["go", "the same", "the same"]
    if read:
        assert heard([chunk for _, chunk in chunks]) == said(parent)


def test_what_is_sealed_is_not_read_again_with_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Scripted("ok")
    graph = make(
        script,
        tmp_path,
        streams=False,
        journal_window=6,
        context_window=8_000,
        compaction=CompactionConfig(trigger_messages=4, keep_messages=2, keep_tokens=0),
    )
    for i in range(12):
        graph.invoke(say(f"question {i} " * 60), thread())
    assert graph.get_state(thread()).values["sealed"]["count"] > 0
    read: list[str] = []
    opened = segments._record

    def counted(files: Any, home: str, head: str) -> Any:
        read.append(head)
        return opened(files, home, head)

    monkeypatch.setattr(segments, "_record", counted)

    monkeypatch.setattr(segments, "_MOST_KNOWN", 1)  # many other threads in this process
    script.answers = [calls("a"), calls("b"), "ok"]
    for chunk in graph.stream(say("and now?"), thread(), stream_mode="updates"):
        if "tools" in chunk and len(script.answers) == 2:
            read.clear()  # what came before was done once in the call
    assert len(graph.get_state(thread()).values["messages"]) > 4
    assert read == []


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agent_of_langchains_streams_each_answer_once(
    is_async: bool, tmp_path: Path
) -> None:
    model = Streaming(script=answers(3))
    graph: Any = create_agent(
        model,
        middleware=[ContextMiddleware(model, workspace=tmp_path)],
        state_schema=ContextState,
        checkpointer=InMemorySaver(),
    )
    chunks: list[Any] = []
    for i in range(3):
        given: Any = say(f"question {i}")
        if is_async:
            chunks += [c async for c in graph.astream(given, thread(), stream_mode="messages")]
        else:
            chunks += graph.stream(given, thread(), stream_mode="messages")
    assert [text for _, text in said(graph)] == [f"answer number {i}" for i in range(3)]
    assert heard(chunks) == said(graph)
