"""The generated sessions are what the benchmarks say they are: long, uneven, and far-reaching."""

from __future__ import annotations

import statistics

import pytest

from longthread.apps.replay import Session
from longthread.benchmarks.grounding import identifiers, message_text
from longthread.benchmarks.sessions import KINDS, generated


@pytest.fixture(scope="module", params=list(KINDS))
def session(request: pytest.FixtureRequest) -> Session:
    return generated(request.param, seed=5, tokens=100_000)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("tokens", [40_000, 400_000])
def test_a_session_becomes_as_long_as_asked(kind: str, tokens: int) -> None:
    session = generated(kind, seed=2, tokens=tokens)
    assert tokens * 0.9 < session.tokens < tokens * 1.2


def test_nothing_of_a_session_is_left_out_when_it_is_played(session: Session) -> None:
    assert (session.duplicates, session.strays, session.unanswered, session.leftover) == (0,) * 4


def test_a_few_tool_results_are_many_times_as_long_as_most(session: Session) -> None:
    sizes = sorted(len(r.text) for step in session.steps for r in step.results)
    assert sizes[-1 - len(sizes) // 100] > 4 * statistics.median(sizes)


def test_some_answers_use_what_was_last_seen_long_ago(session: Session) -> None:
    seen: dict[str, int] = {}
    lags: list[int] = []
    for number, step in enumerate(session.steps):
        for given in step.inputs:
            seen |= dict.fromkeys(identifiers(message_text(given)), number)
        used = identifiers(message_text(step.answer))
        lags += [number - seen[name] for name in used if name in seen]
        for message in (step.answer, *step.results):
            seen |= dict.fromkeys(identifiers(message_text(message)), number)
    far = sum(lag > 20 for lag in lags) / len(lags)
    assert 0.01 < far < 0.12, "the recorded sessions have 2 to 5 % of them"
    assert max(lags) > len(session.steps) // 4
