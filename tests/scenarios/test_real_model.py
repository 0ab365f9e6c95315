"""A real small model with a window of 2,048 tokens: what it is sent, refuses and finds cached.

What it says has no sense and is not looked at; what it counts, refuses and has cached is real.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import openai
import pytest
from agents import nodes_run, say, thread
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from local_model import CONTEXT
from pydantic import SecretStr

from longthread import (
    CompactionConfig,
    FlushTrigger,
    MaskingConfig,
    MemoryConfig,
    context_policy,
    create_agent_graph,
)
from longthread.graphs.compiled import AgentGraph
from longthread.state.projection import view_context

SENTENCES = (
    "The harbour was quiet in the morning and the boats lay close to the wall.",
    "A letter came from the north with news about the weather and the price of grain.",
    "Nobody in the village could remember when the old bridge had been built.",
    "The teacher asked the children to draw a map of every road they knew.",
    "At noon the market filled with people who wanted to buy fish and bread.",
    "The river had risen during the night and covered the lower fields.",
    "She kept a list of the birds that she saw from her window each winter.",
    "They agreed to meet again in spring, when the passes would be free of snow.",
)
Batch = Literal["auto"] | int
SYSTEM = "You are a friendly assistant. Answer every question in one short sentence."


def prose(number: int, sentences: int) -> str:
    """Return a chapter of about 16 tokens a sentence that begins like no other one."""
    lines = [SENTENCES[(number + 3 * line) % len(SENTENCES)] for line in range(sentences)]
    return " ".join([f"Chapter {number}.", *lines])


def read_chapter(number: int) -> str:
    """Read a chapter."""
    return prose(number, 6)


class LocalModel(ChatOpenAI):
    """The real model. It is too small to call tools: a call is added to its first answers.

    The request that a call comes back from is made all the same, and its text is kept.

    Attributes:
        chapters: How many chapters it reads before it answers without a call.
    """

    chapters: int = 0

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        result = super()._generate(messages, *args, **kwargs)
        answer = result.generations[0].message
        # It was told to go on to the limit: that is where it ends, not where it was cut.
        (result.generations[0].generation_info or {}).pop("finish_reason", None)
        answer.response_metadata.pop("finish_reason", None)
        read = sum(message.type == "tool" for message in messages)
        if isinstance(answer, AIMessage) and read < self.chapters:
            answer.tool_calls = [
                {
                    "name": "read_chapter",
                    "args": {"number": read},
                    "id": f"call-{read}",
                    "type": "tool_call",
                }
            ]
        return result


class Requests(BaseCallbackHandler):
    """Keeps what was asked on the side, and what the server refused."""

    run_inline = raise_error = True

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.refusals: list[BaseException] = []

    def on_chat_model_start(self, *args: Any, tags: list[str] | None = None, **kwargs: Any) -> None:
        """Note what the request is for."""
        self.tags += tags or []

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Note a refusal."""
        self.refusals.append(error)


@dataclass
class Thread:
    """An agent with a thread of its own, and what became of its requests."""

    agent: AgentGraph
    requests: Requests

    @property
    def state(self) -> dict[str, Any]:
        """The state that it is in."""
        return self.agent.get_state(thread()).values

    @property
    def usage(self) -> list[tuple[int, int]]:
        """For every answer: the tokens of its request, and how many of them were cached."""
        counted = [m.usage_metadata for m in self.state["messages"] if m.type == "ai"]
        return [(u["input_tokens"], u["input_token_details"]["cache_read"]) for u in counted]

    @property
    def errors(self) -> list[tuple[float, bool]]:
        """For every answered request: how far off our count of it was, as a share of the server's.

        And whether the count could start from the one before: no decision has changed the prefix.
        """
        errors = []
        states = list(self.agent.get_state_history(thread()))[::-1]
        for before, after in pairwise(states):
            if before.next != ("reasoning",) or "usage" not in after.values:
                continue
            view = view_context(before.values, context_policy(self.agent))
            stands = view.usage.get("decisions") == view.fingerprint
            errors.append((view.tokens / after.values["usage"]["input_tokens"] - 1, stands))
        return errors


def started(
    address: str, folder: Path, *tools: Any, chapters: int = 0, length: int = 8, **options: Any
) -> Thread:
    """Make an agent of the real model, with repeatable answers of so many tokens."""
    requests = Requests()
    model = LocalModel(
        model="smollm2",
        base_url=f"{address}/v1",
        api_key=SecretStr("none"),
        temperature=0,
        seed=1,
        max_completion_tokens=length,
        extra_body={"ignore_eos": True},  # exactly so many
        max_retries=0,
        stream_usage=True,
        callbacks=[requests],
        chapters=chapters,
    )
    options = {
        "system_prompt": SYSTEM,
        "memory": None,
        "eviction": None,
        "compaction": CompactionConfig(max_summary_tokens=64),
        **options,
    }
    graph = create_agent_graph(
        model, tools, workspace=folder, checkpointer=InMemorySaver(), **options
    )
    return Thread(graph, requests)


def assert_refused_once(story: Thread) -> None:
    """The server refused one request, for its length."""
    (refusal,) = story.requests.refusals
    assert isinstance(refusal, openai.BadRequestError)
    assert "exceed_context_size_error" in refusal.response.text
    assert story.state["overflow"] == {"limit": CONTEXT}


def test_a_thread_that_outgrows_the_window_is_compacted_and_learns_the_windows_size(
    local_model: str, tmp_path: Path
) -> None:
    story = started(local_model, tmp_path, context_window=16_000)
    story.agent.invoke(say(prose(0, 4)), thread())
    assert story.requests.refusals == []

    more = [("user", prose(1, 56)), ("assistant", "I see."), ("user", prose(2, 70))]
    nodes = nodes_run(story.agent, {"messages": more}, thread())

    assert nodes == ["recall", "reasoning", "overflow_retry", "compaction", "reasoning"]
    assert_refused_once(story)
    assert story.state["compaction"]["generation"] == 1
    for question in ("Who was it?", prose(3, 36), "When?"):
        story.agent.invoke(say(question), thread())
    assert story.state["compaction"]["generation"] == 2, "before the next refusal, not after it"
    assert len(story.requests.refusals) == 1
    assert [message.type for message in story.state["messages"]] == ["human", "ai"] * 6


async def test_an_asynchronous_stream_recovers_from_the_same_refusal(
    local_model: str, tmp_path: Path
) -> None:
    story = started(local_model, tmp_path, context_window=16_000)
    earlier = [("user", prose(0, 60)), ("assistant", "I see."), ("user", prose(1, 70))]

    stream = story.agent.astream({"messages": earlier}, thread(), stream_mode="messages")
    pieces = [message.text async for message, _ in stream]

    assert_refused_once(story)
    assert story.state["compaction"]["generation"] == 1
    assert [message.type for message in story.state["messages"]] == ["human", "ai", "human", "ai"]
    assert "".join(pieces) == story.state["messages"][-1].text


@pytest.fixture(scope="module")
def conversation(local_model: str, tmp_path_factory: pytest.TempPathFactory) -> Thread:
    """A conversation that is longer than the window, which is known."""
    story = started(local_model, tmp_path_factory.mktemp("long"), context_window=CONTEXT)
    for number in range(6):
        story.agent.invoke(say(prose(number, 22)), thread())
    return story


def test_a_conversation_longer_than_the_known_window_is_never_refused(conversation: Thread) -> None:
    assert conversation.requests.refusals == []
    assert "longthread:compaction" in conversation.requests.tags
    assert len(conversation.usage) == 6
    everything = {"messages": conversation.state["messages"]}
    assert view_context(everything, context_policy(conversation.agent)).tokens > CONTEXT


@pytest.fixture(scope="module")
def steps(local_model: str, tmp_path_factory: pytest.TempPathFactory) -> dict[Batch, Thread]:
    """The same thread of tool steps, once for each way to move the mask."""
    stories: dict[Batch, Thread] = {}
    for batch in ("auto", 1):
        story = started(
            local_model,
            tmp_path_factory.mktemp("steps"),
            read_chapter,
            chapters=5,
            context_window=CONTEXT,
            system_prompt=prose(99, 62),  # no provider caches less than 1,024 tokens
            masking=MaskingConfig(turns=2, batch=batch),
        )
        story.agent.invoke(say("Read five chapters."), thread())
        stories[batch] = story
    return stories


def test_what_a_step_sends_again_comes_from_the_servers_cache(
    steps: dict[Batch, Thread],
) -> None:
    requests = steps["auto"].usage
    assert len(requests) == 6
    for (before, _), (_, cached) in pairwise(requests):
        assert cached >= before


def test_more_of_a_request_is_cached_when_the_mask_moves_only_where_that_pays(
    steps: dict[Batch, Thread],
) -> None:
    auto, every_step = steps["auto"].usage[1:], steps[1].usage[1:]
    assert steps[1].state["masked_through"]
    assert share_cached(auto) > share_cached(every_step) + 0.05
    assert sum(tokens - cached for tokens, cached in auto) < sum(
        tokens - cached for tokens, cached in every_step
    )


def share_cached(requests: list[tuple[int, int]]) -> float:
    """Return the share of the tokens of requests that were cached."""
    return sum(cached for _, cached in requests) / sum(tokens for tokens, _ in requests)


def test_our_count_of_a_request_is_close_to_the_servers_from_the_second_one_on(
    conversation: Thread, steps: dict[Batch, Thread]
) -> None:
    for story in (conversation, *steps.values()):
        (first, _), *others = story.errors  # the first is that of another tokenizer
        shown = [
            f"{error:+.2%}{'' if stands else ' (a decision changed)'}" for error, stands in others
        ]
        print(f"without usage {first:+.1%}, then {', '.join(shown)}")
        assert len(others) == 5
        assert all(abs(error) < 0.02 for error, stands in others if stands)
        assert all(abs(error) < 0.04 for error, _ in others)


def test_a_stream_holds_the_answer_in_pieces_and_nothing_of_what_is_said_on_the_side(
    local_model: str, tmp_path: Path
) -> None:
    story = started(
        local_model,
        tmp_path,
        length=48,  # a summary that is cut before it says anything is refused
        context_window=CONTEXT,
        memory=MemoryConfig(flush_trigger=FlushTrigger.never()),
        compaction=CompactionConfig(threshold=0.1, keep_tokens=50),
    )
    earlier = [("user", prose(0, 6)), ("assistant", "I see."), ("user", prose(1, 6))]
    given = {"messages": [*earlier, ("assistant", "So it is."), ("user", "Where was that?")]}

    stream = story.agent.stream(given, thread(), stream_mode="messages")
    pieces = [(message.text, metadata["langgraph_node"]) for message, metadata in stream]

    assert {"longthread:compaction", "longthread:flush"} <= set(story.requests.tags)
    assert story.state["compaction"]["generation"] == 1
    assert {node for _, node in pieces} == {"reasoning"}
    said = [text for text, _ in pieces if text]
    assert len(said) > 2
    assert "".join(said) == story.state["messages"][-1].text
