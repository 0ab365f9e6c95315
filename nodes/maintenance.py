"""Maintenance of memory: consolidate what is new, archive what is old and consolidated."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field
from datetime import datetime

from ..state.errors import WorkspaceError
from ..state.policy import ContextPolicy
from ..stores.memory.archive import archive_ledgers
from ..stores.memory.ledger_chunks import LedgerChunk, next_part
from ..stores.memory.maintenance import (
    NewText,
    consumed_of,
    maintenance_due,
    new_ledger_text,
    record_maintenance,
)
from ..stores.memory.memory_paths import memory_path
from ..stores.memory.retention import remove_older
from ..stores.memory.rewriting import rewrite_memory, settle_rewrite
from ..stores.memory.scopes import SCOPES, Scope, scope_of
from ..stores.workspace import ScopedWorkspace, SweptFiles
from .merging import ConsolidationRefused, Merging
from .models import Model
from .node import Run, Steps, io
from .tokens_used import TokensUsed

__all__ = ["Maintained", "Maintenance"]

log = logging.getLogger("longthread")

# Somebody else rewrote the file while the model was at work: make it again, but not for ever.
_ATTEMPTS = 3


@dataclass(slots=True)
class Maintained:
    """What maintenance did.

    Attributes:
        rewritten: The MEMORY.md files that were rewritten.
        ledgers: The ledgers whose text they have taken in.
        archived: The ledgers that were moved, where they are now.
        removed: The evicted texts that were removed.
        used: Tokens that the model used.
    """

    rewritten: list[str] = field(default_factory=list)
    ledgers: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    used: TokensUsed = field(default_factory=TokensUsed)


class Maintenance:
    """Looks after the memory of one owner, in both scopes.

    Args:
        policy: The agent's policy.
        model: The model that consolidates.
        window: Its context window in tokens; None: it is the agent's own.
    """

    def __init__(self, policy: ContextPolicy, model: Model, window: int | None = None) -> None:
        assert policy.memory is not None
        self.policy = policy
        self.memory = policy.memory
        self.model = model
        self.window = window

    def due(self, files: ScopedWorkspace, moment: datetime) -> Steps[bool]:
        """Whether there is a scope that may be maintained now."""
        try:
            return bool((yield io(self._due, files, moment)))
        except WorkspaceError as error:
            log.warning("memory maintenance is put off: %s", error)
            return False

    def when_due(
        self, files: ScopedWorkspace, moment: datetime, window: int, run: Run
    ) -> Steps[None]:
        """Maintain each scope that is due. What goes wrong is logged, never raised."""
        done = Maintained()
        try:
            scopes: list[Scope] = yield io(self._due, files, moment)
        except WorkspaceError as error:
            log.warning("memory maintenance is put off: %s", error)
            return
        for scope in scopes:
            try:
                yield from self._scope(files, scope, moment, window, run, done)
            except Exception as error:
                log.warning("%s stays as it is: %s", memory_path(scope), error)
        _report(done, run)

    def steps(
        self, files: ScopedWorkspace, moment: datetime, window: int, run: Run
    ) -> Steps[Maintained]:
        """Maintain both scopes now, whenever that was done last.

        Raises:
            ConsolidationRefused: What the model wrote must not replace MEMORY.md.
            RedactionError: The redactor failed.
            WorkspaceError: A file or a record cannot be read or written.
            Exception: What the model raised.
        """
        done = Maintained()
        for scope in SCOPES:
            yield from self._scope(files, scope, moment, window, run, done)
        _report(done, run)
        return done

    def _due(self, files: ScopedWorkspace, moment: datetime) -> list[Scope]:
        gap = self.memory.consolidation_min_gap
        return [scope for scope in SCOPES if maintenance_due(files, moment, gap, scope)]

    def _scope(
        self,
        files: ScopedWorkspace,
        scope: Scope,
        moment: datetime,
        window: int,
        run: Run,
        done: Maintained,
    ) -> Steps[None]:
        """Consolidate first, archive after: a ledger leaves only when MEMORY.md has it."""
        try:
            asked = yield from self._consolidated(files, scope, moment, window, run, done)
        except Exception:
            # One that fails every time is not paid for after every call.
            yield io(record_maintenance, files, moment, scope)
            yield from self._expired(files, scope, moment, done)
            raise
        if asked or scope == "global":
            # A look that found nothing new does not put off what is learned a minute later. (What
            # is saved for all agents is in their MEMORY.md at once.)
            yield io(record_maintenance, files, moment, scope)
        days = self.memory.daily_file_retention_days
        done.archived += yield io(archive_ledgers, files, moment, days, scope)
        if isinstance(files, SweptFiles):
            yield io(files.remove_left_behind, "global" if scope == "global" else "")
        yield from self._expired(files, scope, moment, done)

    def _expired(
        self, files: ScopedWorkspace, scope: Scope, moment: datetime, done: Maintained
    ) -> Steps[None]:
        """Remove evicted texts that have outlived their time; that asks no model."""
        eviction = self.policy.eviction
        if scope == "agent" and eviction is not None and eviction.retention_days is not None:
            done.removed += yield io(
                remove_older, files, eviction.path, moment, eviction.retention_days
            )

    def _consolidated(
        self,
        files: ScopedWorkspace,
        scope: Scope,
        moment: datetime,
        window: int,
        run: Run,
        done: Maintained,
    ) -> Steps[bool]:
        """Take in what is new, a part that fits at a time; each part is one whole rewrite.

        Returns:
            Whether anything was new.
        """
        asked = False
        path, name, attempts = memory_path(scope), uuid.uuid4().hex, 0
        merging = Merging(self.policy, self.model, self.window or window)
        yield io(settle_rewrite, files, scope)
        ends: dict[str, int] | None = None
        while True:
            new: list[NewText] = yield io(new_ledger_text, files, scope)
            if ends is None:
                ends = {text.path: len(text.whole) for text in new}
            # What is appended while this runs is for the next time: it has to come to an end.
            new = [cut for text in new if (cut := text.until(ends.get(text.path, 0))) is not None]
            if not new:
                return asked
            asked = True
            old: str | None = yield io(files.read_text, path)
            consumed = yield io(consumed_of, files, scope)
            parts: list[LedgerChunk] = yield io(next_part, new, merging.room(old or ""))
            text = old or ""
            try:
                for part in parts:
                    text = yield from merging.steps(text, part, run)
            finally:
                done.used.add(merging.used)
                merging.used = TokensUsed()
            taken = parts[-1].consumed
            rewritten = yield io(
                rewrite_memory,
                files,
                scope,
                old,
                text,
                known=consumed,
                consumed={**consumed, **taken},
                run=name,
                moment=moment,
            )
            if rewritten:
                done.rewritten += [path] if path not in done.rewritten else []
                done.ledgers += [p for p in taken if p not in done.ledgers]
                continue
            attempts += 1
            if attempts == _ATTEMPTS:
                raise ConsolidationRefused("it is rewritten again and again by somebody else")


def _report(done: Maintained, run: Run) -> None:
    if not done.rewritten and not done.archived:
        return
    for path in done.rewritten:
        ledgers = [ledger for ledger in done.ledgers if scope_of(ledger) == scope_of(path)]
        run.emit("consolidation", path=path, ledgers=ledgers, usage=done.used.as_dict())
    log.info(
        "memory maintained: %s rewritten from %d ledgers (%d tokens in, %d out), %d archived",
        ", ".join(done.rewritten) or "nothing",
        len(done.ledgers),
        done.used.input_tokens,
        done.used.output_tokens,
        len(done.archived),
    )
