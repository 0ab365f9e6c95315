"""The scripted model: every answer is a function of what it is sent."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from longthread import DEFAULT_CONSOLIDATION_PROMPT, DEFAULT_FLUSH_PROMPT, classify_overflow
from longthread.apps.demo.agent_script import next_step
from longthread.apps.demo.provider import ScriptedProvider
from longthread.apps.demo.side_script import purpose_of, side_answer
from longthread.apps.replay.pricing import Priced, PromptMeter
from longthread.state.body import INTERRUPTED
from longthread.state.prompts import DEFAULT_SUMMARY_PROMPT
from longthread.state.reference import reference_message
from longthread.state.templates import fill

TASK = HumanMessage("Repair it, until run_check passes. Sign with [H-42].")
CONTRACT = "Finding: docs/contract.md wants ROUND_HALF_EVEN at a tax rate of 0.05."
CULPRIT = "Finding: harbor/tax.py says rounding=ROUND_HALF_UP."
INCIDENT = "Finding: incident E-7001: booked totals differ; the calls go harbor/tax.py"
TOTALS = "Finding: booked totals are off by 3 cents, from 2026-03-04 on."


def called(name: str, args: dict[str, Any], result: str, said: str = "") -> list[AnyMessage]:
    call = {"name": name, "args": args, "id": f"call-{name}-{len(str(args))}"}
    answer = AIMessage(said, tool_calls=[call])
    return [answer, ToolMessage(result, tool_call_id=call["id"], name=name)]


def summary(*facts: str) -> HumanMessage:
    message = reference_message("", "## Facts\n" + "\n".join(f"- {f}" for f in facts), len(facts))
    assert message is not None
    return message


def asked_for(answer: AIMessage) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], call["args"]) for call in answer.tool_calls]


def test_it_reads_the_line_that_the_preview_of_the_evicted_log_names() -> None:
    preview = (
        "# nightly run: 900 lines, 1 error, at line 612\n…\n\n"
        "[73331 characters in all; full text at large_tool_results/t/x.txt; read it with read_file]"
    )
    request = [TASK, *called("open_file", {"path": "logs/nightly.log"}, preview)]

    (call,) = asked_for(next_step(request))

    assert call == (
        "read_file",
        {"path": "large_tool_results/t/x.txt", "offset": 610, "limit": 7},
    )


BOOKED = "order,net,tax\norder-10001,0.10,0.01\norder-10002,0.30,0.02\n"


def test_it_adds_up_with_the_rate_and_the_rounding_of_the_summary() -> None:
    booked = called("open_file", {"path": "data/2026-03-04.csv"}, BOOKED)
    request = [summary(CONTRACT, CULPRIT), TASK, *booked]

    answer = next_step(request)

    # Half to even makes 0.00 of 0.005, and 0.02 of 0.015.
    assert "off by 1 cents, from 2026-03-04 on" in str(answer.content)
    ((name, args),) = asked_for(answer)
    assert (name, args["path"]) == ("edit_file", "harbor/tax.py")
    assert args["new"] == '(CENT, rounding="ROUND_HALF_EVEN")  # [H-42]'


def test_another_contract_gives_another_sum() -> None:
    booked = called("open_file", {"path": "data/2026-03-04.csv"}, BOOKED)
    down = CONTRACT.replace("HALF_EVEN", "HALF_DOWN")

    answer = next_step([summary(down, CULPRIT), TASK, *booked])

    assert "off by 2 cents" in str(answer.content)


@pytest.mark.parametrize("lost", [CONTRACT, CULPRIT])
def test_it_gives_up_when_the_context_has_lost_what_it_needs(lost: str) -> None:
    facts = [fact for fact in (CONTRACT, CULPRIT) if fact != lost]
    booked = called("open_file", {"path": "data/2026-03-04.csv"}, BOOKED)

    answer = next_step([summary(*facts), TASK, *booked])

    assert str(answer.content).startswith("I give up: nothing that I was sent says")
    assert not answer.tool_calls


def test_it_signs_with_the_tag_of_the_newest_human_message_only() -> None:
    other = HumanMessage("Sign with [H-11].")
    opened = called("open_file", {"path": "harbor/fees.py"}, "RATE = 0.125\n")

    ((_, args),) = asked_for(next_step([summary(TOTALS), other, TASK, *opened]))

    assert args["new"] == 'RATE = Decimal("0.125")  # [H-42]\n'


def test_it_does_what_the_check_says_fails_first() -> None:
    failed = "FAIL harbor/fees.py: 1 constant is a float\nFAIL x: y\n2 failed"

    answer = next_step([TASK, *called("run_check", {}, failed)])

    assert asked_for(answer) == [("open_file", {"path": "harbor/fees.py"})]


def test_it_stops_at_a_failure_that_it_does_not_know() -> None:
    failed = "FAIL checks/check_fees.py: wrong amount for 0.10\n1 failed"

    answer = next_step([TASK, *called("run_check", {}, failed)])

    assert str(answer.content).startswith("I give up: checks/check_fees.py: wrong amount")


def test_an_interrupted_call_is_made_again() -> None:
    answer = next_step([TASK, *called("run_check", {}, INTERRUPTED)])

    assert asked_for(answer) == [("run_check", {})]


def test_a_question_is_answered_from_memory_and_not_without_it() -> None:
    memory = reference_message(
        "\n".join([INCIDENT, CULPRIT, TOTALS, CONTRACT, "releases go out on Thursdays at 14:30"]),
        "",
        0,
    )
    question = HumanMessage("Which incident was it?")
    assert memory is not None

    assert "E-7001 in harbor/tax.py: 3 cents" in str(next_step([memory, question]).content)
    assert str(next_step([question]).content).startswith("I give up")


def test_it_knows_what_a_request_is_for_by_its_prompt() -> None:
    assert purpose_of([SystemMessage(DEFAULT_FLUSH_PROMPT), HumanMessage("…")]) == "flush"
    prompt = DEFAULT_CONSOLIDATION_PROMPT % (9, 36)
    assert purpose_of([SystemMessage(prompt), HumanMessage("…")]) == "consolidation"
    assert purpose_of([HumanMessage(DEFAULT_SUMMARY_PROMPT)]) == "summary"
    assert purpose_of([SystemMessage("You look after code."), TASK]) == "agent"


def test_a_flush_says_only_what_memory_does_not_have() -> None:
    def prompt(known: str) -> HumanMessage:
        talk = f"[assistant]\n{INCIDENT}\n[assistant]\nnothing"
        return HumanMessage(
            f"<known>\n{known}\n</known>\n\n<conversation>\n{talk}\n</conversation>"
        )

    assert side_answer("flush", [prompt("")]) == f"- {INCIDENT}"
    assert side_answer("flush", [prompt(f"- {INCIDENT}")]) == "NO_REPLY"


def test_a_summary_keeps_what_the_one_before_it_knew() -> None:
    first = fill(
        DEFAULT_SUMMARY_PROMPT,
        messages=f"[user]\nRepair it.\n\n[assistant]\n{INCIDENT}",
        summary="(none)",
        max_tokens=99,
    )
    before = side_answer("summary", [HumanMessage(first)])
    second = fill(
        DEFAULT_SUMMARY_PROMPT,
        messages=f'[assistant]\n{TOTALS}\n[calls edit_file {{"path": "harbor/tax.py"}}]',
        summary=before,
        max_tokens=99,
    )

    after = side_answer("summary", [HumanMessage(second)])

    for known in ("- Repair it.", INCIDENT, TOTALS, "- harbor/tax.py"):
        assert known in after


def test_memory_keeps_its_entries_and_dates_new_ones_by_their_ledger() -> None:
    prompt = (
        f"<memory>\n<!-- 2026-01-05 -->\n- {CONTRACT}\n</memory>\n\n"
        f"<ledgers>\nmemory/2026-03-06.md\n- {CONTRACT}\n- {TOTALS}\n</ledgers>"
    )

    merged = side_answer("consolidation", [HumanMessage(prompt)])

    assert merged == f"<!-- 2026-01-05 -->\n- {CONTRACT}\n\n<!-- 2026-03-06 -->\n- {TOTALS}"


def test_the_provider_refuses_what_is_over_its_limit_as_openai_does() -> None:
    asked: list[tuple[str, bool, int]] = []

    def note(purpose: str, answer: AIMessage | None, priced: Priced) -> None:
        asked.append((purpose, answer is not None, priced.tokens))

    provider = ScriptedProvider(limit=60, asked=note, meter=PromptMeter(tools=10))
    assert provider([TASK]).usage_metadata is not None

    with pytest.raises(Exception, match="context_length_exceeded") as refused:
        provider([TASK, HumanMessage("word " * 200)])

    error = refused.value
    assert type(error).__module__.split(".")[0] == "openai"
    assert type(error).__name__ == "BadRequestError"
    assert getattr(error, "code", None) == "context_length_exceeded"
    overflow = classify_overflow(error)
    assert overflow is not None
    assert (overflow.kind, overflow.limit) == ("context_window", 60)
    assert overflow.requested == asked[1][2] > 60
    assert [entry[:2] for entry in asked] == [("agent", True), ("agent", False)]
