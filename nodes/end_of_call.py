"""What is done after the answer of a call: extract, then maintain."""

from __future__ import annotations

import logging

from langchain_core.runnables import RunnableConfig

from ..state.memory_config import MemoryConfig
from ..stores.memory.flush_record import count_failed_flush, flush_is_allowed, record_flush
from .background import BackgroundJob
from .extraction import Conversation, Extracted, Extraction
from .maintenance import Maintenance
from .node import Run, Steps, drive, io

__all__ = ["EndOfCall", "config_for_later", "flushed"]

log = logging.getLogger("longthread")


def flushed(
    extraction: Extraction, talk: Conversation, run: Run, *, throttle: MemoryConfig | None = None
) -> Steps[None]:
    """Extract what is new. What goes wrong is logged and counted, never raised.

    Args:
        extraction: Asks the model.
        talk: What is extracted from.
        run: Where the events go.
        throttle: What the end of a call goes by; None: this is no end of a call.
    """
    try:
        if throttle is not None and not (
            yield io(flush_is_allowed, talk.files, throttle.flush_trigger, talk.moment)
        ):
            return
        done: Extracted = yield from extraction.steps(talk, run)
        if done.asked:
            last = talk.moment if throttle is not None else None
            yield io(record_flush, talk.files, done.used.as_dict(), last)
    except Exception as error:
        log.warning("nothing was added to the ledger: %s", error)
        run.emit("flush", path=None, messages=0, error=f"{type(error).__name__}: {error}")
        try:
            yield io(count_failed_flush, talk.files, error)
        except Exception as failure:
            log.warning("nor could that be counted: %s", failure)
        return
    if done.messages:
        run.emit("flush", path=done.path, messages=done.messages, usage=done.used.as_dict())
        log.info(
            "thread %s: facts extracted from %d messages into %s (%d tokens in, %d out)",
            talk.cursor.thread,
            done.messages,
            done.path or "nothing",
            done.used.input_tokens,
            done.used.output_tokens,
        )


class EndOfCall:
    """The work that one call leaves. It holds all that it needs; nothing of the call's context.

    Args:
        extraction: Asks for the facts.
        maintenance: Maintains afterwards.
        talk: What is extracted from.
        run: The call.
        holds: What must not be gone while the work waits.
    """

    def __init__(
        self,
        extraction: Extraction,
        maintenance: Maintenance,
        talk: Conversation,
        run: Run,
        *,
        holds: object = None,
    ) -> None:
        self.holds = holds
        self.extraction = extraction
        self.maintenance = maintenance
        self.talk = talk
        self.run = Run(config_for_later(run.config), None)

    def __call__(self) -> None:
        """Extract, then maintain what is due."""
        talk, memory = self.talk, self.maintenance.memory
        drive(flushed(self.extraction, talk, self.run, throttle=memory))
        drive(self.maintenance.when_due(talk.files, talk.moment, talk.window, self.run))

    def covers(self, earlier: BackgroundJob, /) -> bool:
        """Whether this call's journal goes on from the earlier one's: a fork's does not."""
        if not isinstance(earlier, EndOfCall):
            return False
        before, journal = earlier.talk, self.talk.journal
        if before.end > self.talk.end:
            return False
        return before.end == 0 or journal[before.end - 1].id == before.journal[before.end - 1].id


def config_for_later(config: RunnableConfig) -> RunnableConfig:
    """Return what of a run's configuration outlives it: no callbacks, nothing of LangGraph's own.

    What a configurable model goes by stays, and the metadata that traces are found by.
    """
    configurable = config.get("configurable") or {}
    metadata = config.get("metadata") or {}
    return {
        "configurable": {k: v for k, v in configurable.items() if not _is_internal(k)},
        "metadata": {k: v for k, v in metadata.items() if not _is_internal(k)},
    }


def _is_internal(key: object) -> bool:
    return str(key).startswith(("__", "checkpoint_", "langgraph_"))
