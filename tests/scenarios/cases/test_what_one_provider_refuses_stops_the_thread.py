"""What stands in the journal is sent with every request: one refusal would be one for ever.

Seen elsewhere: vLLM, llama.cpp and Mistral read the arguments of earlier calls and refuse what is
no JSON (vllm #43995, OpenHands #2887, deer-flow #4172); OpenAI and Anthropic refuse names of tools
that none can have, and blocks of calls that an approval has taken away.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_openai.chat_models.base import _convert_message_to_dict

from longthread.state.validity import violations

BAD = '{"at": "no end'
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def sent(script: Scripted, result: Any) -> list[BaseMessage]:
    """Return the last request, once it is found to be valid."""
    request = script.requests[-1]
    assert violations(request, result["messages"], to_send=True) == []
    return request


def invalid(args: str, call_id: str = "a", **other: Any) -> Any:
    """Return a call whose arguments are no JSON."""
    call = {"name": "look", "args": args, "id": call_id, "error": None}
    return {**call, **other, "type": "invalid_tool_call"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        [{"type": "tool_use", "id": "a", "name": "look", "input": {}, "partial_json": BAD}],
        [{"type": "function_call", "id": "fc", "call_id": "a", "name": "look", "arguments": BAD}],
        [{"type": "invalid_tool_call", "id": "a", "name": "look", "args": BAD, "error": "bad"}],
    ],
)
def test_arguments_that_are_no_json_are_told_and_not_sent_back(
    tmp_path: Path, content: Any
) -> None:
    script = Scripted(AIMessage(content, invalid_tool_calls=[invalid(BAD)]), "done")
    result = agent(script, tmp_path).invoke(say("go"), thread())
    _, call, told = sent(script, result)
    written = json.dumps([_convert_message_to_dict(call), call.content])
    assert "no end" not in written
    assert (
        json.loads(_convert_message_to_dict(call)["tool_calls"][0]["function"]["arguments"]) == {}
    )
    assert f"They were: {BAD}" in str(told.content)
    assert result["messages"][1].invalid_tool_calls[0]["args"] == BAD


def test_long_arguments_that_are_no_json_are_told_in_part(tmp_path: Path) -> None:
    bad = BAD + "x" * 100_000
    error = f"Function look arguments:\n\n{bad}\n\nare not valid JSON."
    script = Scripted(AIMessage("", invalid_tool_calls=[invalid(bad, error=error)]), "done")
    result = agent(script, tmp_path).invoke(say("go"), thread())
    told = str(sent(script, result)[2].content)
    assert BAD in told
    assert len(told) < 2_000


def test_calls_that_can_be_read_stay_beside_those_that_cannot(tmp_path: Path) -> None:
    first = calls("a").model_copy(update={"invalid_tool_calls": [invalid(BAD, "b")]})
    script = Scripted(first, "done")
    result = agent(script, tmp_path).invoke(say("go"), thread())
    request = sent(script, result)
    assert [call["args"] for call in request[1].tool_calls] == [{"at": "a"}, {}]  # type: ignore[attr-defined]
    assert contents(request)[2] == "saw a"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "unknown_tool"),
        ("functions.look", "functions_look"),
        ("look<|channel|>json", "look__channel__json"),
        ("l" * 200, "l" * 64),
    ],
)
def test_a_name_that_no_tool_can_have_is_respelled(tmp_path: Path, name: str, shown: str) -> None:
    made = AIMessage("", tool_calls=[ToolCall(name=name, args={}, id="a")])
    script = Scripted(made, "done")
    result = agent(script, tmp_path).invoke(say("go"), thread())
    assert sent(script, result)[1].tool_calls[0]["name"] == shown  # type: ignore[attr-defined]


def test_a_person_with_a_blank_in_the_name_can_ask(tmp_path: Path) -> None:
    script = Scripted("done")
    given = {"messages": [HumanMessage("hi", name="Ann <Lee>")]}
    result = agent(script, tmp_path).invoke(given, thread())
    assert sent(script, result)[0].name == "Ann_Lee_"


@pytest.mark.parametrize("first", [{"type": "text", "text": "I look."}, THINKING])
@pytest.mark.parametrize("responses", [True, False])
def test_a_call_that_an_approval_takes_away_goes_with_its_block(
    tmp_path: Path, first: Any, responses: bool
) -> None:
    blocks = [_block(call, responses) for call in "ab"]
    asked = calls("a", "b").model_copy(update={"content": [first, *blocks]})
    script = Scripted(asked, "done")
    graph = agent(script, tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    waiting = graph.get_state(thread()).values["messages"][-1]
    edited = waiting.model_copy(update={"tool_calls": waiting.tool_calls[:1]})
    graph.update_state(thread(), {"messages": [edited]})
    request = sent(script, graph.invoke(None, thread()))
    assert request[1].content == [first, blocks[0]]
    assert contents(request)[2:] == ["saw a"]


def test_of_calls_that_all_are_taken_away_only_what_was_said_is_left(tmp_path: Path) -> None:
    for said in ([{"type": "text", "text": "I look."}], [THINKING]):
        asked = calls("a").model_copy(update={"content": [*said, _block("a", False)], "id": "m"})
        script = Scripted(asked, "done")
        graph = agent(script, tmp_path, interrupt_before=["tools"])
        graph.invoke(say("go"), thread())
        edited = asked.model_copy(update={"tool_calls": []})
        graph.update_state(thread(), {"messages": [edited]})
        result = graph.invoke(say("and now?"), thread())
        expected = ["go", said, "and now?"] if said != [THINKING] else ["go", "and now?"]
        assert [message.content for message in sent(script, result)] == expected


def test_a_result_in_the_name_of_a_tool_that_is_none_is_sent(tmp_path: Path) -> None:
    made = AIMessage("", tool_calls=[ToolCall(name="a b", args={}, id="a")], id="m")
    given = [HumanMessage("go"), made, ToolMessage("x", tool_call_id="a", name="a b")]
    script = Scripted("done")
    result = agent(script, tmp_path).invoke({"messages": given}, thread())
    assert sent(script, result)[2].name == "a_b"


def _block(call: str, responses: bool) -> dict[str, Any]:
    if responses:
        arguments = json.dumps({"at": call})
        return {"type": "function_call", "call_id": call, "name": "look", "arguments": arguments}
    return {"type": "tool_use", "id": call, "name": "look", "input": {"at": call}}
