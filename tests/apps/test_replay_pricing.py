"""Pricing requests: what is cached, what is new, and the summariser of a replay."""

from __future__ import annotations

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from longthread.apps.replay import Prices, PromptMeter
from longthread.apps.replay.summaries import extractive_summariser
from longthread.state.counting import count_message, count_text
from longthread.state.prompts import DEFAULT_SUMMARY_PROMPT
from longthread.state.templates import fill
from longthread.state.transcript import transcript

LONG = " ".join(f"word{i}" for i in range(1_000))
ANSWER = AIMessage("ok")


def test_the_common_prefix_is_cached() -> None:
    meter = PromptMeter(tools=100)
    system, human = SystemMessage(LONG), HumanMessage("a")
    first = meter.measure([system, human], ANSWER)
    assert first.cached == 0
    second = meter.measure([SystemMessage(LONG), HumanMessage("a changed one")], ANSWER)
    assert second.cached == 100 + count_message(system)
    assert second.new == count_message(HumanMessage("a changed one"))
    third = meter.measure([SystemMessage("b"), human], ANSWER)
    assert third.cached == 0, "100 tokens of tools alone are too few to be cached"


def test_of_the_first_message_that_differs_the_beginning_is_cached_in_steps() -> None:
    meter = PromptMeter(tools=2_000)
    meter.measure([HumanMessage(f"{LONG} one"), AIMessage("b")], ANSWER)
    again = meter.measure([HumanMessage(f"{LONG} two"), AIMessage("b")], ANSWER)
    common = again.cached - 2_000
    assert common % 128 == 0
    assert 0 <= count_text(LONG) - common < 128 + 2
    other = meter.measure([AIMessage(f"{LONG} two")], ANSWER)
    assert other.cached == 2_000, "another kind of message has nothing in common with it"


def test_a_request_that_shrinks_caches_only_what_stayed() -> None:
    meter = PromptMeter()
    messages: list[AnyMessage] = [HumanMessage(LONG), AIMessage("b"), HumanMessage("c")]
    meter.measure(messages, ANSWER)
    again = meter.measure(messages[:1], ANSWER)
    assert (again.cached, again.new) == (again.tokens, 0)


def test_a_prefix_below_1024_tokens_is_not_cached() -> None:
    meter = PromptMeter(tools=1_023)
    meter.measure([HumanMessage("a")], ANSWER)
    assert meter.measure([HumanMessage("b")], ANSWER).cached == 0
    meter = PromptMeter(tools=1_024)
    meter.measure([HumanMessage("a")], ANSWER)
    assert meter.measure([HumanMessage("b")], ANSWER).cached == 1_024


def test_ids_of_messages_do_not_matter_but_calls_and_kinds_do() -> None:
    def cached(before: AnyMessage, after: AnyMessage) -> int:
        meter = PromptMeter(tools=2_000)
        meter.measure([before], ANSWER)
        return meter.measure([after], ANSWER).cached - 2_000

    same = HumanMessage("a", id="2")
    assert cached(HumanMessage("a", id="1"), same) == count_message(same)
    assert cached(HumanMessage("a"), AIMessage("a")) == 0
    assert cached(ToolMessage("a", tool_call_id="1"), ToolMessage("a", tool_call_id="2")) == 0
    call = {"name": "f", "args": {}, "id": "1"}
    assert cached(AIMessage("", tool_calls=[call]), AIMessage("", tool_calls=[])) == 0


def test_prices_are_those_that_are_given() -> None:
    prices = Prices(cached=1, new=10, output=100, cacheable=0)
    meter = PromptMeter(prices=prices)
    human = HumanMessage("a")
    assert meter.measure([human], ANSWER).cost == 10 * count_message(human) + 100 * count_message(
        ANSWER
    )
    assert prices.cost(cached=1, new=2, output=3) == 321


def test_a_request_apart_is_neither_cached_nor_remembered() -> None:
    meter = PromptMeter(tools=2_000)
    meter.measure([HumanMessage("a")], ANSWER)
    apart = meter.measure_apart([HumanMessage(LONG)], ANSWER)
    assert (apart.tokens, apart.cached) == (count_message(HumanMessage(LONG)), 0)
    assert meter.measure([HumanMessage("a")], ANSWER).new == 0


def summary_of(*messages: AnyMessage, previous: str = "", max_tokens: int = 400) -> str:
    prompt = fill(
        DEFAULT_SUMMARY_PROMPT,
        messages="\n\n".join(map(transcript, messages)),
        summary=previous or "(none)",
        max_tokens=max_tokens,
    )
    answer = extractive_summariser(window=8_000).invoke([HumanMessage(prompt)])
    assert isinstance(answer.content, str)
    return answer.content


def test_the_extract_keeps_requests_course_and_identifiers() -> None:
    call = {"name": "search", "args": {"order": "order_4711"}, "id": "1"}
    text = summary_of(
        HumanMessage("Refund my booking, please"),
        AIMessage("I look it up", tool_calls=[call]),
        ToolMessage("payment credit_card_77 at src/pay.py", tool_call_id="1", name="search"),
        previous="The user is Mia Li.",
    )
    for kept in (
        "Refund my booking, please",
        "I look it up [search]",
        "order_4711",
        "credit_card_77",
        "src/pay.py",
        "The user is Mia Li.",
    ):
        assert kept in text
    assert "(none)" not in summary_of(HumanMessage("a"))


def test_the_extract_is_bounded_by_what_the_prompt_allows() -> None:
    text = summary_of(HumanMessage(LONG), AIMessage(LONG), previous=LONG, max_tokens=100)
    assert 0 < count_text(text) <= 100


def test_an_extract_of_part_of_a_message_and_of_another_prompt_is_not_empty() -> None:
    model = extractive_summariser(window=8_000, max_tokens=50)
    assert "order_4711" in str(model.invoke("the end of a result, order_4711").content)
