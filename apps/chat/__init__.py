"""`longthread chat`: a conversation in the terminal, on a thread that lasts."""

from __future__ import annotations
