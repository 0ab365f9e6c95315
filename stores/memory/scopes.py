"""Whose memory a file is: the agent's own, or what all agents of a user share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ...state.errors import ToolInputError

__all__ = ["SCOPES", "Scope", "parse_scope", "scope_of", "scoped_path"]

Scope: TypeAlias = Literal["agent", "global"]
"""The agent's own, or shared by all agents of the user."""

SCOPES: tuple[Scope, ...] = ("agent", "global")

_SHARED = "global/"


def parse_scope(value: object) -> Scope:
    """Return the scope that was asked for; None stands for `agent`.

    Raises:
        ToolInputError: It is anything but None, "agent" or "global".
    """
    if value is None:
        return "agent"
    if isinstance(value, str) and value in SCOPES:
        return value
    raise ToolInputError(f"scope={value!r}: use 'agent' or 'global', or leave it out for 'agent'")


def scoped_path(name: str, scope: Scope) -> str:
    """Return the path or the record's name in a scope: `global/` before it, or nothing."""
    return _SHARED + name if scope == "global" else name


def scope_of(path: str) -> Scope:
    """Return the scope that a path or a record's name is in."""
    return "global" if path.startswith(_SHARED) else "agent"
