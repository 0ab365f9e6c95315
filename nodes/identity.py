"""Who a call is for: user, agent and clock, from the runtime context and the server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..state.errors import ConfigurationError
from ..stores.workspace import Owner
from .node import Run

__all__ = ["is_guest", "now", "owner_of", "thread_owner", "utc_now"]


def owner_of(run: Run, agent: str) -> Owner:
    """Return whose memory this call uses.

    Args:
        run: Where the node runs.
        agent: The graph's own name; `ThreadContext.agent` overrides it.

    Returns:
        The owner. An identity that the server has authenticated overrides `ThreadContext.user_id`.
    """
    user = _from_context(run, "user_id")
    server = getattr(run.runtime, "server_info", None)
    authenticated = getattr(server, "user", None)
    if authenticated is not None:
        user = authenticated.identity
    return Owner(user=user, agent=_from_context(run, "agent") or agent)


def thread_owner(state: Mapping[str, Any], run: Run, agent: str) -> Owner:
    """Return whose thread it is: the first call's, whoever calls now.

    What belongs to the thread (evicted texts, sealed segments) is kept with its owner's files.
    """
    recorded = state.get("owner")
    return Owner(recorded["user"], recorded["agent"]) if recorded else owner_of(run, agent)


def is_guest(state: Mapping[str, Any], run: Run, agent: str) -> bool:
    """Whether this call is made by another user than the thread's owner.

    It neither shows the memory of either of them to the other, nor writes what one has said into
    the memory of the other.
    """
    return thread_owner(state, run, agent).user != owner_of(run, agent).user


def now(run: Run) -> datetime:
    """Return the present moment in the zone of the call: one instant for file name and heading."""
    return utc_now().astimezone(_zone(_from_context(run, "timezone")))


def utc_now() -> datetime:
    """Return what the clock says; a test can put another one in place.

    What is scheduled (flush, maintenance) and what is dated (ledgers, entries) goes by it.
    """
    return datetime.now(UTC)


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationError(
            f"ThreadContext.timezone={name!r}: not a known time zone; use an IANA name such as "
            "'Europe/Berlin'"
        ) from error


def _from_context(run: Run, field: str) -> str | None:
    """Read one field of the context, which may be a caller's own schema without it."""
    context: Any = getattr(run.runtime, "context", None)
    if isinstance(context, (str, bytes, int, float)):
        raise ConfigurationError(
            f"context={context!r}: pass ThreadContext(user_id=…, agent=…, timezone=…) or a dict"
        )
    value = context.get(field) if isinstance(context, Mapping) else getattr(context, field, None)
    return None if value is None else str(value)
