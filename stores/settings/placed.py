"""How the models of settings files are made: each mistake keeps its place."""

from __future__ import annotations

from pydantic import BaseModel

__all__ = ["Placed"]


class Placed(BaseModel):
    """Validated in its place, so that an error says where."""

    __init__ = BaseModel.__init__
