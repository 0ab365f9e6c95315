"""Judging what a summariser has answered: what cannot stand in for messages is refused."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage

from ..state.counting import count_text, text_of
from ..state.errors import SummaryRefused
from ..state.facts import unwrapped
from ..state.grounding import is_grounded
from ..state.text import clip_end, clip_start, without_first_word, without_last_word
from .models import stop_reason_of

__all__ = ["bounded_summary", "checked_summary"]

_CUT_MARK = "[The rest of this summary was cut off.]"
_HEADING = re.compile(r"^#{1,6} .*\S", re.MULTILINE)
_FEW = 3
_SHORT = 60  # words; a longer answer without a word of the conversation is not an apology
_NO_ANSWER = re.compile(
    r"\W*(?:sorry|error|unable|cannot|can['’]t|failed|no|none|nothing|n/?a|ok(?:ay)?|sure|done"
    r"|understood|null|undefined)\b",
    re.IGNORECASE,
)


def checked_summary(answer: AIMessage, template: str, material: str) -> str:
    """Return the text of a summary.

    Args:
        answer: The model's answer.
        template: The prompt: whoever writes the sections it asks for has not refused.
        material: What was to be summarised.

    Raises:
        SummaryRefused: It is blank, blocked, an error or an apology, or was cut off before it said
            anything of the conversation.
    """
    reason = stop_reason_of(answer)
    if reason is not None and reason != "cut":
        raise SummaryRefused(f"the summariser's answer was {reason}")
    text = unwrapped(text_of(answer.content)).strip()
    if not any(map(str.isalnum, text)):
        raise SummaryRefused("the summary is blank")
    if reason == "cut":
        # Cut twice: some models run to every limit. What is whole of it still says more than the
        # extract that would stand in, unless it is a beginning without a word of the conversation.
        text = _whole_part(text)
        if not is_grounded(text, material):
            raise SummaryRefused("the summariser's answer was cut before it said anything")
        return f"{text}\n{_CUT_MARK}"
    sections = {line.lower() for line in _HEADING.findall(template)}
    if any(line.lower() in sections for line in _HEADING.findall(text)):
        return text
    words = len(text.split())
    # Two or three words can be anything, unless they begin as a refusal does.
    telling = words > _FEW or _NO_ANSWER.match(text) is not None
    if words <= _SHORT and telling and not is_grounded(text, material):
        raise SummaryRefused(
            f"the answer has nothing of the conversation in it: {clip_end(text, 80)!r}"
        )
    return text


def _whole_part(text: str) -> str:
    """Return what is whole of a text that was cut off: its lines, or its words, but the last."""
    lines = text.rpartition("\n")[0]
    return (lines or text.rpartition(" ")[0]).strip()


def bounded_summary(text: str, max_tokens: int) -> str:
    """Cut a summary that is too long in its middle: its end says what is still to be done."""
    shown, size = text, len(text)
    while (tokens := count_text(shown)) > max_tokens and size > 1:
        size = min(size - 1, size * max_tokens // tokens)
        # Half a path looks like another one.
        head = without_last_word(clip_end(text, size // 2))
        tail = without_first_word(clip_start(text, size // 2))
        shown = f"{head}\n[…]\n{tail}"
    return shown
