"""`longthread demo`: a long session without key or network, through every node of the graph."""

from __future__ import annotations

from .run import run_demo

__all__ = ["run_demo"]
