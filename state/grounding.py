"""Whether a text a model made says anything of what it was given.

Refusals, errors and "nothing to do" come in endless wordings. What they have in common is what they
lack: the names, numbers and words of the material. Words that such answers are made of, and words
that carry no meaning of their own, therefore count for nothing here.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["is_grounded", "is_kept", "words_of"]

_WORD = re.compile(r"\w+")
# Scripts that are written without spaces: two characters in a row are what a word is elsewhere.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_SMALL_WORDS = """
a about after all also am an and any are as at be because been before but by can could did do
does done for from had has have he her here him his how i if in into is it its just ll may me
might more my no none not nothing now of on or our out over own re s same she should so some
such t than that the their them then there these they this those to too under up ve very was we
were what when where which while who why will with would yet you your
"""
_OF_ANSWERS = """
able agent ai already answer apologies apologise apologize apology assist assistance assistant
available cannot change changed changes complete content context conversation current currently
date don error exceeded facts failed failure file help information input instructions
language large later limit limited loaded md memory merge merged message messages model needed
new occurred ok okay output please policies policy previous process provide provided quota rate
reply request requested requests required retry server service sorry stays summaries summarise
summarize summary sure text thank thanks tool try unable unavailable unchanged understood update
updated updates user wrong
"""
_EMPTY = frozenset(f"{_SMALL_WORDS} {_OF_ANSWERS}".split())
_MOST = 4  # words of a long fact that tell it from others


def words_of(text: str) -> set[str]:
    """Return the words of a text, as they are compared."""
    found: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        for run in _UNSPACED.findall(word):
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        found.update(_UNSPACED.sub(" ", word).split())
    return found


def is_grounded(text: str, material: str) -> bool:
    """Whether a text has at least one word of the material that says something."""
    return not (words_of(text) - _EMPTY).isdisjoint(words_of(material))


def is_kept(fact: str, words: set[str]) -> bool:
    """Whether enough of a fact is in a text, given by its words, to know it again.

    Facts are corrected, merged and put in other words: a third of what they say, and four words of
    a long one, is enough. One that is made of small words only has to be there with all of them.
    """
    everything = words_of(fact)
    telling = everything - _EMPTY
    if not telling:
        return everything <= words
    return len(telling & words) >= min(_MOST, (len(telling) + 2) // 3)
