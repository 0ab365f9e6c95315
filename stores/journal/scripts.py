"""SQL in the database of a checkpointer, over the checkpointer's own connection.

A script is a generator: it yields statements with their parameters, is sent the rows of each, and
returns a result. It is written once and runs over all four of LangGraph's SQL checkpointers.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Literal, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...state.errors import LongthreadError
from ..effects import Effect
from .saver_calls import unwrapped

__all__ = ["Script", "dialect_of", "run_script"]

T = TypeVar("T")

Script = Generator[tuple[str, Sequence[Any]], list[tuple[Any, ...]], T]
"""Yields statements and their parameters, is sent their rows, returns a T."""

_HOMES = {
    "langgraph.checkpoint.sqlite": "SqliteSaver",
    "langgraph.checkpoint.sqlite.aio": "AsyncSqliteSaver",
    "langgraph.checkpoint.postgres": "PostgresSaver",
    "langgraph.checkpoint.postgres.aio": "AsyncPostgresSaver",
}


def dialect_of(saver: BaseCheckpointSaver[Any]) -> Literal["sqlite", "postgres"] | None:
    """Return the SQL that a checkpointer's database speaks; None: it has none that we know."""
    kind = _kind(saver)
    if kind is None:
        return None
    return "sqlite" if kind.endswith("SqliteSaver") else "postgres"


def run_script(
    saver: BaseCheckpointSaver[Any], script: Callable[[], Script[Any]], *, atomic: bool = False
) -> Effect:
    """An effect: run a script over the connection of a checkpointer.

    Args:
        saver: A checkpointer that `dialect_of` knows.
        script: Makes the script.
        atomic: PostgreSQL only: all of it in one transaction.

    Raises:
        LongthreadError: The checkpointer is asynchronous, and this is synchronous code in the very
            event loop that it needs.
    """
    saver = unwrapped(saver)
    runner: Any = {
        "SqliteSaver": _sqlite,
        "AsyncSqliteSaver": _asqlite,
        "PostgresSaver": _postgres,
        "AsyncPostgresSaver": _apostgres,
    }[_kind(saver) or ""]
    if runner in (_sqlite, _postgres):
        return Effect(
            run=lambda: runner(saver, script(), atomic),
            arun=lambda: asyncio.to_thread(runner, saver, script(), atomic),
        )
    return Effect(
        run=lambda: _in_its_loop(saver, runner(saver, script(), atomic)),
        arun=lambda: runner(saver, script(), atomic),
    )


def _kind(saver: BaseCheckpointSaver[Any]) -> str | None:
    saver = unwrapped(saver)
    for module, name in _HOMES.items():
        # What was never imported has no instances, and need not be installed.
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(saver, known):
            return name
    return None


def _sqlite(saver: Any, script: Script[T], _: bool) -> T:
    with saver.cursor(transaction=False) as cursor:
        try:
            sql, parameters = next(script)
            while True:
                sql, parameters = script.send(cursor.execute(sql, parameters).fetchall())
        except StopIteration as done:
            result: T = done.value
            return result


async def _asqlite(saver: Any, script: Script[T], _: bool) -> T:
    await saver.setup()
    async with saver.lock, saver.conn.cursor() as cursor:
        try:
            sql, parameters = next(script)
            while True:
                await cursor.execute(sql, parameters)
                sql, parameters = script.send(list(await cursor.fetchall()))
        except StopIteration as done:
            result: T = done.value
            return result


def _postgres(saver: Any, script: Script[T], atomic: bool) -> T:
    with ExitStack() as stack:
        cursor = stack.enter_context(saver._cursor())
        if atomic:
            stack.enter_context(cursor.connection.transaction())
        try:
            sql, parameters = next(script)
            while True:
                # Parameters, or their absence, decide whether % means itself.
                cursor.execute(sql, parameters or None)
                rows = cursor.fetchall() if cursor.description else []
                sql, parameters = script.send([tuple(row.values()) for row in rows])
        except StopIteration as done:
            result: T = done.value
            return result


async def _apostgres(saver: Any, script: Script[T], atomic: bool) -> T:
    async with AsyncExitStack() as stack:
        cursor = await stack.enter_async_context(saver._cursor())
        if atomic:
            await stack.enter_async_context(cursor.connection.transaction())
        try:
            sql, parameters = next(script)
            while True:
                await cursor.execute(sql, parameters or None)
                rows = await cursor.fetchall() if cursor.description else []
                sql, parameters = script.send([tuple(row.values()) for row in rows])
        except StopIteration as done:
            result: T = done.value
            return result


def _in_its_loop(saver: Any, work: Coroutine[Any, Any, T]) -> T:
    try:
        here: Any = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is saver.loop:
        work.close()
        raise LongthreadError(
            f"{type(saver).__name__} works in this event loop, which a synchronous method would "
            "block: await the asynchronous one"
        )
    return asyncio.run_coroutine_threadsafe(work, saver.loop).result()
