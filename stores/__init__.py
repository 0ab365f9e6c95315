"""Where things live: the workspace on disk, the daily ledger and MEMORY.md."""

from __future__ import annotations

from .local.workspace import LocalWorkspace
from .memory.ledger import (
    LedgerEntry,
    LedgerMarker,
    append_entry,
    has_marker,
    ledger_date,
    ledger_path,
    read_entries,
    without_thread,
)
from .memory.memory_file import (
    MemoryPart,
    add_entry,
    count_entries,
    entry_body,
    format_entry,
    split_memory,
)
from .paths import check_segment, safe_segment, split_path
from .workspace import FileInfo, JsonRecord, Owner, ScopedWorkspace, TextPage, Workspace

__all__ = [
    "FileInfo",
    "JsonRecord",
    "LedgerEntry",
    "LedgerMarker",
    "LocalWorkspace",
    "MemoryPart",
    "Owner",
    "ScopedWorkspace",
    "TextPage",
    "Workspace",
    "add_entry",
    "append_entry",
    "check_segment",
    "count_entries",
    "drop_first",
    "entry_body",
    "format_entry",
    "has_marker",
    "ledger_date",
    "ledger_path",
    "read_entries",
    "safe_segment",
    "split_memory",
    "split_path",
    "without_thread",
]
