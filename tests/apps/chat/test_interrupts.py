"""Ctrl-C, whenever and however often it is pressed."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator

import pytest
from rich.console import Console

from longthread.apps.chat.interrupts import Interrupts
from longthread.apps.chat.screen import PlainScreen, warnings_on


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with asyncio.Runner() as runner, Interrupts(runner) as made:
        yield made


def press(times: int = 1) -> None:
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


def test_a_task_is_cancelled_once_and_winds_up_undisturbed(interrupts: Interrupts) -> None:
    done: list[str] = []

    async def turn() -> None:
        try:
            press(3)
            await asyncio.Event().wait()
        finally:
            press(3)
            await asyncio.sleep(0)
            press(3)
            await asyncio.sleep(0)
            done.append("wound up")

    with pytest.raises(KeyboardInterrupt):
        interrupts.run(turn())
    assert done == ["wound up"]

    async def next_turn() -> str:
        await asyncio.sleep(0)
        return "answer"

    assert interrupts.run(next_turn()) == "answer"


def test_pressed_in_between_it_ends_what_comes_next_and_only_that(interrupts: Interrupts) -> None:
    async def turn() -> str:
        return "answer"

    press(2)
    with pytest.raises(KeyboardInterrupt):
        interrupts.run(turn())
    assert interrupts.run(turn()) == "answer"
    press(2)
    with pytest.raises(KeyboardInterrupt), interrupts.waiting():
        pass
    with interrupts.waiting():
        pass
    press(2)
    interrupts.forget()
    assert interrupts.run(turn()) == "answer"


def test_a_wait_is_ended_once(interrupts: Interrupts) -> None:
    def wait() -> None:
        with interrupts.waiting():
            try:
                press()
            finally:
                press()  # while it is dealt with

    with pytest.raises(KeyboardInterrupt):
        wait()


def test_a_task_that_ends_although_it_was_cancelled_has_its_result(interrupts: Interrupts) -> None:
    async def turn() -> str:
        press()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "answer"
        raise AssertionError

    assert interrupts.run(turn()) == "answer"


def test_afterwards_ctrl_c_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with asyncio.Runner() as runner, Interrupts(runner):
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_warnings_are_notes_and_those_of_broken_connections_are_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with warnings_on(PlainScreen(Console())):
        logging.getLogger("longthread").warning("a\nb \x1b[31m")
        logging.getLogger("somebody.else").warning("c")
        logging.getLogger("psycopg.pool").warning("error connecting")
    assert capsys.readouterr().err == "· warning: a b \\x1b[31m\n· warning: c\n"
