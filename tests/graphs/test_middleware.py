"""`ContextMiddleware`: the context policy in an agent made by LangChain's `create_agent`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, contents, look, overflow_error, say, thread
from langchain.agents import create_agent
from langchain.agents.middleware import dynamic_prompt
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from openai import BadRequestError

from longthread import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    create_agent_graph,
    drain,
)
from longthread.graphs.middleware import ContextMiddleware, ContextState
from longthread.state.validity import violations


def made(script: Scripted, tmp_path: Path, tools: Any = (look,), **options: Any) -> Any:
    """Make an agent of LangChain's with our middleware."""
    kept = {k: options.pop(k) for k in ("state_schema", "system_prompt") if k in options}
    others = options.pop("others", [])
    context = ContextMiddleware(script.model, tools, workspace=tmp_path / "w", **options)
    agent = create_agent(
        script.model,
        list(tools),
        middleware=[*others, context],
        checkpointer=InMemorySaver(),
        **kept,
    )
    return agent, context


def texts(messages: Any) -> list[str]:
    """Return the texts of a request without its system prompt."""
    return contents([m for m in messages if m.type != "system"])


async def both(agent: Any, given: Any, name: str) -> Any:
    """Run a call, sync and async, each on a thread of its own."""
    result = agent.invoke(given, thread(name))
    twin = await agent.ainvoke(given, thread(f"{name}-async"))
    assert contents(result["messages"]) == contents(twin["messages"])
    return result


async def test_a_quiet_call_changes_nothing(tmp_path: Path) -> None:
    agent, _ = made(Scripted(lambda m: calls("a") if len(m) == 1 else AIMessage("one")), tmp_path)
    result = await both(agent, say("go"), "t")
    assert contents(result["messages"]) == ["go", "", "saw a", "one"]
    assert set(result) == {"messages"}


async def test_a_large_result_goes_to_a_file_that_the_agent_can_read(tmp_path: Path) -> None:
    def dump(at: str) -> str:
        """Dump."""
        return f"start {'x' * 100_000} end"

    def reply(messages: list[Any]) -> AIMessage:
        last = messages[-1]
        if last.type == "human":
            return calls("a", name="dump")
        if last.name == "dump":
            path = next(word for word in str(last.content).split() if "large_tool_results" in word)
            args = {"path": path.strip(".,:;\"'`()"), "offset": 0, "limit": 1}
            return AIMessage("", tool_calls=[{"name": "read_file", "args": args, "id": "r"}])
        return AIMessage("read" if "start" in str(last.content) else "nothing")

    script = Scripted(reply)
    agent, _ = made(script, tmp_path, [dump])
    for result in (agent.invoke(say("go"), thread()), await agent.ainvoke(say("go"), thread("a"))):
        assert result["messages"][-1].content == "read"
    assert len(str(result["messages"][2].content)) > 100_000  # the journal has it whole
    assert len(texts(script.requests[1])[2]) < 10_000


async def test_old_results_are_masked_and_old_messages_summarised(tmp_path: Path) -> None:
    def work(at: str) -> str:
        """Work."""
        return f"{at} " + "lorem ipsum " * 150

    script = Scripted(
        lambda m: (
            calls(f"c{len(script.requests)}", name="work")
            if len(script.requests) % 12
            else AIMessage("done")
        ),
        summary="## Intent\nGo on.",
    )
    agent, context = made(
        script,
        tmp_path,
        [work],
        context_window=4_000,
        masking=MaskingConfig(turns=2),
        compaction=CompactionConfig(keep_tokens=600),
    )
    for name in ("sync", "async"):
        for count in range(3):
            given = say(f"question {count}")
            if name == "sync":
                agent.invoke(given, thread(name))
            else:
                await agent.ainvoke(given, thread(name))
        state = agent.get_state(thread(name)).values
        assert state["longthread"]["compaction"]["generation"] >= 1
        assert len(state["messages"]) > 60  # nothing is taken out
        projected = context.project(state)
        assert violations(projected, state["messages"]) == []
        assert "Go on." in str(projected[0].content)
        assert len(projected) < len(state["messages"]) * 0.75
    for request in script.requests:
        assert sum(len(str(m.content)) for m in request) < 4 * 4_000


async def test_an_overflow_is_recovered_from_once(tmp_path: Path) -> None:
    def reply(messages: list[Any]) -> AIMessage:
        if sum(len(str(m.content)) for m in messages) > 9_000:
            raise overflow_error(limit=2_500, requested=3_000)
        return AIMessage("word " * 300)

    script = Scripted(reply, summary="## Intent\nGo on.")
    agent, _ = made(script, tmp_path)
    for name in ("sync", "async"):
        for count in range(8):
            given = say(f"question {count}")
            if name == "sync":
                result = agent.invoke(given, thread(name))
            else:
                result = await agent.ainvoke(given, thread(name))
        assert len(result["messages"]) == 16
        record = agent.get_state(thread(name)).values["longthread"]
        assert record["overflow"]["limit"] == 2_500
        assert record["compaction"]["generation"] >= 1


def test_an_overflow_that_nothing_helps_against_is_the_providers(tmp_path: Path) -> None:
    agent, _ = made(Scripted(overflow_error()), tmp_path)
    with pytest.raises(BadRequestError):
        agent.invoke(say("go"), thread())
    assert contents(agent.get_state(thread()).values["messages"]) == ["go"]


def test_a_new_question_settles_what_an_interruption_left_open(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask."""
        return f"they said {interrupt('?')}"

    script = Scripted(calls("a", name="ask"), "one")
    agent, _ = made(script, tmp_path, [ask])
    agent.invoke(say("go"), thread())
    result = agent.invoke(say("never mind"), thread())
    assert contents(result["messages"])[-1] == "one"
    assert [m.type for m in script.requests[-1]] == ["human", "ai", "tool", "human"]
    agent, _ = made(Scripted(calls("a", name="ask"), "one"), tmp_path, [ask])
    agent.invoke(say("go"), thread("b"))
    result = agent.invoke(Command(resume="yes"), thread("b"))
    assert contents(result["messages"]) == ["go", "", "they said yes", "one"]


def test_memory_is_shown_and_written_when_it_is_asked_for(tmp_path: Path) -> None:
    files = tmp_path / "w/users/_default/agents/agent"
    files.mkdir(parents=True)
    (files / "MEMORY.md").write_text("- Kim likes tea.\n")
    script = Scripted("one", facts="- Kim lives in Oslo.")
    agent, _ = made(script, tmp_path, memory=MemoryConfig(), reference=["Rule one."])
    agent.invoke(say("I live in Oslo"), thread())
    assert "Kim likes tea." in str(script.requests[0][0].content)
    assert "Rule one." in str(script.requests[0][0].content)
    drain()
    [ledger] = files.glob("memory/*.md")
    assert "Kim lives in Oslo." in ledger.read_text()


def test_the_prompt_and_the_tools_of_the_request_count(tmp_path: Path) -> None:
    @dynamic_prompt
    def prompt(request: Any) -> str:
        return "You are terse. " * 50

    script = Scripted("one")
    agent, context = made(script, tmp_path, others=[prompt])
    result = agent.invoke(say("go"), thread())
    assert str(script.requests[0][0].content).startswith("You are terse.")
    assert context.project(result)[0].content == script.requests[0][0].content


def test_ids_that_a_provider_repeats_overwrite_nothing(tmp_path: Path) -> None:
    again = AIMessage("", id="same", tool_calls=calls("same").tool_calls)
    agent, _ = made(Scripted(again, again.model_copy(), AIMessage("one", id="same")), tmp_path)
    result = agent.invoke(say("go"), thread())
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert len({m.id for m in result["messages"]}) == 6


async def test_messages_can_be_stored_as_they_are_added(tmp_path: Path) -> None:
    agent, _ = made(
        Scripted(lambda m: calls("a") if len(m) == 1 else AIMessage("one")),
        tmp_path,
        state_schema=ContextState,
    )
    result = await both(agent, say("go"), "t")
    assert contents(result["messages"]) == ["go", "", "saw a", "one"]
    saved = agent.checkpointer.get_tuple(thread("t"))
    assert "messages" not in saved.checkpoint["channel_values"]


def test_a_structured_response_comes_with_the_answer(tmp_path: Path) -> None:
    from langchain.agents.structured_output import ToolStrategy
    from pydantic import BaseModel

    class Shape(BaseModel):
        ok: bool

    call = AIMessage("", tool_calls=[{"name": "Shape", "args": {"ok": True}, "id": "s"}])
    script = Scripted(call)
    context = ContextMiddleware(script.model, workspace=tmp_path)
    agent: Any = create_agent(
        script.model, middleware=[context], response_format=ToolStrategy(Shape)
    )
    assert agent.invoke(say("go"))["structured_response"] == Shape(ok=True)


def test_answers_in_a_shape_under_one_id_have_a_result_each(tmp_path: Path) -> None:
    from langchain.agents.structured_output import ToolStrategy
    from pydantic import BaseModel

    class Shape(BaseModel):
        ok: bool

    call: Any = {"name": "Shape", "args": {"ok": True}, "id": "s"}
    script = Scripted(AIMessage("", tool_calls=[call, call]), AIMessage("", tool_calls=[call]))
    context = ContextMiddleware(script.model, workspace=tmp_path)
    agent: Any = create_agent(
        script.model, middleware=[context], response_format=ToolStrategy(Shape)
    )
    agent.invoke(say("go"))
    results = [message for message in script.requests[1] if message.type == "tool"]
    assert len(results) == 2
    assert not [m for m in results if "interrupted" in str(m.content)]


def test_a_tool_of_the_application_keeps_its_name(tmp_path: Path) -> None:
    def read_file(path: str) -> str:
        """Read a file of the application's."""
        return "theirs"

    _, context = made(Scripted("one"), tmp_path, [read_file])
    assert "read_file" not in [tool.name for tool in context.tools]
    assert len(context.tools) == 1


def test_without_langchain_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from longthread.state.errors import ConfigurationError

    module = sys.modules.pop("longthread.graphs.middleware")
    monkeypatch.setitem(sys.modules, "longthread.graphs.middleware", module)
    monkeypatch.delitem(sys.modules, "longthread.graphs.middleware")
    monkeypatch.setitem(sys.modules, "langchain.agents", None)
    with pytest.raises(ConfigurationError, match=r"longthread\[langchain\]"):
        __import__("longthread.graphs.middleware")


def test_requests_are_those_of_our_own_agent(tmp_path: Path) -> None:
    def work(at: str) -> str:
        """Work."""
        return f"{at} " + "lorem ipsum " * 150

    def script() -> Scripted:
        asked: list[int] = []

        def reply(messages: list[Any]) -> AIMessage:
            asked.append(len(messages))
            return calls(f"c{len(asked)}", name="work") if len(asked) % 7 else AIMessage("done")

        return Scripted(reply, summary="## Intent\nGo on.")

    options: dict[str, Any] = {
        "context_window": 4_000,
        "masking": MaskingConfig(turns=2),
        "compaction": CompactionConfig(keep_tokens=600),
        "memory": None,
    }
    ours, theirs = script(), script()
    agent, _ = made(theirs, tmp_path / "theirs", [work], **options)
    own = create_agent_graph(
        ours.model, [work], workspace=tmp_path / "ours", checkpointer=InMemorySaver(), **options
    )
    for count in range(5):
        agent.invoke(say(f"question {count}"), thread())
        own.invoke(say(f"question {count}"), thread())
    assert len(ours.asked["summary"]) >= 2
    assert [texts(r) for r in theirs.requests] == [texts(r) for r in ours.requests]
