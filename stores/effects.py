"""One core for sync and async code: a generator that asks for its effects.

A core yields every piece of I/O as an `Effect` and returns its result. `drive` performs the effects
one way, `adrive` the other, so the twins cannot drift apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

__all__ = ["Effect", "Steps", "adrive", "drive", "io"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Effect:
    """Something a node needs done, and how to do it in either world."""

    run: Callable[[], Any]
    arun: Callable[[], Awaitable[Any]]


Steps = Generator[Effect, Any, T]
"""A core: yields effects, is sent their results (or thrown their errors), returns a T."""


def io(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Effect:
    """An effect that blocks: in async code it runs in a thread."""
    return Effect(
        run=lambda: function(*args, **kwargs),
        arun=lambda: asyncio.to_thread(function, *args, **kwargs),
    )


def drive(steps: Steps[T]) -> T:
    """Perform the effects of a core, one after the other, and return what it returns."""
    try:
        effect = next(steps)
        while True:
            try:
                result = effect.run()
            except BaseException as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(result)
    except StopIteration as done:
        value: T = done.value
        return value
    finally:
        steps.close()


async def adrive(steps: Steps[T]) -> T:
    """Do what `drive` does, asynchronously."""
    try:
        effect = next(steps)
        while True:
            try:
                result = await effect.arun()
            except BaseException as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(result)
    except StopIteration as done:
        value: T = done.value
        return value
    finally:
        steps.close()
