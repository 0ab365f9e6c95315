"""How rare trigrams are, by a sample of the indexed texts.

To ask FTS5 for one more trigram costs a walk along all messages that hold it. Of the twenty that a
phrase has, the few that go together most rarely leave hardly more candidates than all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Rarity"]

_ENOUGH = 4
"""Trigrams that are asked for in any case: nothing in the sample may still be thousands."""
_MOST = 8


class Rarity:
    """Chooses the trigrams to ask for.

    Args:
        sample: Some of the indexed texts, or their beginnings. Without any the first trigrams do.
    """

    def __init__(self, sample: Sequence[str] = ()) -> None:
        self._sample = tuple(sample)

    def rarest(self, grams: Sequence[str]) -> list[str]:
        """Return a few of the trigrams, which together are held by as few texts as possible."""
        holders = {gram: self._holders(gram) for gram in grams}
        chosen: list[str] = []
        left = (1 << len(self._sample)) - 1
        while holders and len(chosen) < (_MOST if left else _ENOUGH):
            gram = min(holders, key=lambda one: self._count(holders[one], left))
            left &= holders.pop(gram)
            chosen.append(gram)
        return chosen

    def _holders(self, gram: str) -> int:
        """Return the texts of the sample that hold a trigram, as the bits of a number."""
        return sum(1 << at for at, text in enumerate(self._sample) if gram in text)

    @staticmethod
    def _count(held: int, left: int) -> tuple[int, int]:
        return ((held & left).bit_count(), held.bit_count())
