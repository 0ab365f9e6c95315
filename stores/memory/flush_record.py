"""When facts were last extracted, and how often that failed: what throttling goes by."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...state.memory_config import FlushTrigger
from ..records import moment_in
from ..workspace import ScopedWorkspace

__all__ = ["count_failed_flush", "flush_is_allowed", "record_flush"]

_RECORD = "flush"


def flush_is_allowed(files: ScopedWorkspace, trigger: FlushTrigger, moment: datetime) -> bool:
    """Whether facts may be extracted at the end of a call.

    A throttled trigger allows the first call, and then one whenever its gap has passed since an
    extraction that succeeded.
    """
    if trigger.mode != "throttled":
        return trigger.mode == "always"
    last = moment_in((files.read_json(_RECORD) or {}).get("last"))
    return last is None or moment - last >= trigger.gap or last > moment


def record_flush(
    files: ScopedWorkspace, usage: Mapping[str, int], last: datetime | None = None
) -> None:
    """Count an extraction that succeeded, and what it used.

    Args:
        files: The owner's files.
        usage: Tokens that the model used.
        last: When it began, if it is one that throttling goes by.
    """

    def counted(old: Mapping[str, Any] | None) -> dict[str, Any]:
        record = {**(old or {}), "failures": 0}
        record["runs"] = _number(record, "runs") + 1
        for key, tokens in usage.items():
            record[key] = _number(record, key) + tokens
        if last is not None:
            record["last"] = last.isoformat()
        return record

    files.update_json(_RECORD, counted)


def count_failed_flush(files: ScopedWorkspace, error: Exception) -> int:
    """Count an extraction that failed; return how many have in a row."""

    def counted(old: Mapping[str, Any] | None) -> dict[str, Any]:
        record = dict(old or {})
        return {
            **record,
            "failures": _number(record, "failures") + 1,
            "failures_ever": _number(record, "failures_ever") + 1,
            "last_failure": type(error).__name__,
        }

    record = files.update_json(_RECORD, counted)
    return _number(record or {}, "failures")


def _number(record: Mapping[str, Any], key: str) -> int:
    value = record.get(key)
    return value if isinstance(value, int) else 0
