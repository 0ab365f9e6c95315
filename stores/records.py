"""Bookkeeping records: JSON objects that a crash or an editor may have spoilt."""

from __future__ import annotations

import json
import logging
from datetime import MAXYEAR, MINYEAR, datetime

from ..state.errors import WorkspaceError
from .paths import shown
from .workspace import JsonRecord

__all__ = ["dump_record", "load_record", "moment_in"]

_log = logging.getLogger(__name__)


def load_record(data: bytes | None, where: str) -> JsonRecord | None:
    """Return the JSON object in `data`, or None when there is none.

    What is not a JSON object is logged as a warning and counts as absent: a cursor that is lost
    costs a second look, an exception would cost the call.
    """
    if data is None:
        return None
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        _log.warning("Ignoring the record %s, which is not JSON: %s", where, error)
        return None
    if isinstance(record, dict):
        return record
    _log.warning("Ignoring the record %s, which is not a JSON object", where)
    return None


def dump_record(record: JsonRecord, name: str) -> bytes:
    """Return a record as it is stored.

    Raises:
        WorkspaceError: The record holds something that JSON cannot.
    """
    try:
        # ASCII escapes keep lone surrogates, which ids from damaged input can hold.
        return json.dumps(record, allow_nan=False, indent=1, sort_keys=True).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise WorkspaceError(
            f"record {shown(name)} cannot be written as JSON: {error}; keep to plain JSON values"
        ) from error


def moment_in(value: object) -> datetime | None:
    """Return the moment that a field of a record names, or None when it names none with a zone
    or one at the end of time."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None or moment.tzinfo is None:
        return None
    # At either end of the calendar there is no day before or after to compute with.
    return moment if MINYEAR < moment.year < MAXYEAR else None
