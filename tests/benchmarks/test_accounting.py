"""What a series of requests costs, by hand: prices, cached prefixes, re-reads, identifiers."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from longthread.apps.replay import Priced, Prices, PromptMeter, Session, Step, parse_session
from longthread.benchmarks.cost import added_up, reread_cost, unmanaged_cost
from longthread.benchmarks.grounding import Grounding, identifiers
from longthread.state.counting import count_message

LONG = "a long opening that every provider would cache. " * 200


def session_of(*steps: Step) -> Session:
    from pathlib import Path

    return Session(Path("made-up.jsonl"), list(steps), recorded=0, tokens=0)


def test_a_token_costs_a_tenth_cached_five_quarters_new_and_five_answered() -> None:
    assert Prices().cost(cached=10_000, new=400, output=60) == 1_000 + 500 + 300


def test_a_reread_is_the_prompt_from_the_cache_and_600_new_and_100_answered() -> None:
    assert reread_cost(8_000) == 800 + 750 + 500


def test_only_the_unchanged_beginning_comes_from_the_cache() -> None:
    opening, question, other = SystemMessage(LONG), HumanMessage("Why?"), HumanMessage("How?")
    meter = PromptMeter(tools=100)
    first = meter.measure([opening, question], AIMessage("ok"))
    assert first.cached == 0
    assert first.new == first.tokens == 100 + count_message(opening) + count_message(question)
    longer = meter.measure([opening, question, AIMessage("ok"), other], AIMessage("ok"))
    assert longer.cached == first.tokens
    rewritten = meter.measure([opening, other], AIMessage("ok"))
    assert rewritten.cached == 100 + count_message(opening)
    assert rewritten.new == count_message(other)


def test_a_beginning_below_1024_tokens_is_not_cached() -> None:
    meter = PromptMeter()
    meter.measure([HumanMessage("short")], AIMessage("ok"))
    again = meter.measure([HumanMessage("short"), AIMessage("ok")], AIMessage("ok"))
    assert again.cached == 0


def test_an_edited_tool_result_ends_the_cached_prefix() -> None:
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    shown = [SystemMessage(LONG), call, ToolMessage("everything", tool_call_id="1")]
    meter = PromptMeter()
    meter.measure(shown, AIMessage("ok"))
    masked = meter.measure([*shown[:2], ToolMessage("[masked]", tool_call_id="1")], AIMessage(""))
    assert masked.cached == count_message(shown[0]) + count_message(call)


def test_a_session_is_added_up_by_hand() -> None:
    """Two requests; the second answer uses an identifier that its prompt no longer holds."""
    asked = HumanMessage("Fix src/billing/invoice.py.")
    first, second = AIMessage("Looking."), AIMessage("src/billing/invoice.py is fixed.")
    session = session_of(Step([asked], first), Step([HumanMessage("And?")], second))
    requests = [Priced(2_000, 0, 10, 2_550.0), Priced(9_000, 1_500, 20, 9_625.0)]
    summary = Priced(4_000, 0, 300, 6_500.0)
    prompts = [[asked], [HumanMessage("a summary"), HumanMessage("And?")]]
    cost = added_up(session, prompts, requests, [summary], window=8_000, unmanaged=100_000.0)
    assert cost.answers == 5 * 30
    assert cost.cached == 0.1 * 1_500
    assert cost.new == 1.25 * (2_000 + 7_500)
    assert cost.summaries == 6_500
    assert cost.rereads == 0.1 * 9_000 + 1.25 * 600 + 5 * 100
    assert cost.total == sum(priced.cost for priced in (*requests, summary)) + cost.rereads
    assert cost.ratio == cost.total / 100_000
    assert (cost.used, cost.missing) == (1, 1)
    assert (cost.above_window, cost.compactions) == (1, 1)


def test_several_missing_identifiers_of_one_answer_are_one_reread() -> None:
    asked = HumanMessage("Orders W1234567 and W7654321.")
    answer = AIMessage("W1234567 and W7654321 are on their way.")
    session = session_of(Step([asked], AIMessage("Which?")), Step([HumanMessage("Both")], answer))
    requests = [Priced(100, 0, 5, 0.0), Priced(100, 0, 5, 0.0)]
    cost = added_up(
        session, [[asked], [HumanMessage("Both")]], requests, [], window=8_000, unmanaged=1.0
    )
    assert cost.missing == 2
    assert cost.rereads == reread_cost(100)


def test_sending_everything_reads_each_message_once_and_then_from_the_cache() -> None:
    lines = (
        f'{{"role": "user", "content": "{LONG}"}}\n'
        '{"role": "assistant", "content": "ok"}\n'
        '{"role": "user", "content": "go on"}\n'
        '{"role": "assistant", "content": "done"}\n'
    )
    from pathlib import Path

    session = parse_session(lines, Path("two.jsonl"))
    opening, ok = count_message(HumanMessage(LONG)), count_message(AIMessage("ok"))
    more, done = count_message(HumanMessage("go on")), count_message(AIMessage("done"))
    expected = 1.25 * opening + 5 * ok + 0.1 * opening + 1.25 * (ok + more) + 5 * done
    assert unmanaged_cost(session) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/billing/invoice.py:12 for it", {"src/billing/invoice.py"}),
        ("write to ada.lovelace@example.com now", {"ada.lovelace@example.com"}),
        ("order W1234567 of flight HAT136", {"W1234567", "HAT136"}),
        ("call resolve_rule_lease or InvoiceStore", {"resolve_rule_lease", "InvoiceStore"}),
        ("arXiv 2403.01234, 54321 rows", {"2403.01234", "54321"}),
        ("nothing but plain words, 12 of them", set()),
    ],
)
def test_identifiers_are_words_that_nobody_writes_by_chance(text: str, found: set[str]) -> None:
    assert found <= identifiers(text)
    assert bool(identifiers(text)) == bool(found)


def test_what_an_answer_makes_up_cannot_be_missing() -> None:
    grounding = Grounding()
    grounding.show([HumanMessage("Please write a parser.")])
    assert not grounding.ask([], AIMessage("I will write src/new_parser.py.")).used
    assert grounding.share == 1.0


def test_arguments_and_results_count_as_seen_and_as_used() -> None:
    grounding = Grounding()
    call = AIMessage("", tool_calls=[{"name": "find", "args": {"in": ["lib/a.py"]}, "id": "1"}])
    grounding.show([call, ToolMessage("class LedgerStore", tool_call_id="1")])
    used = grounding.ask([call], AIMessage("LedgerStore is in lib/a.py."))
    assert used.used == {"lib/a.py", "LedgerStore"}
    assert used.missing == {"LedgerStore"}
