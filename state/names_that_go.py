"""The names in messages that are about to leave the context."""

from __future__ import annotations

from langchain_core.messages import AnyMessage

from .counting import text_of
from .cut import Cut
from .decisions import Eviction
from .identifiers import names_in
from .projection import ContextView
from .redaction import redact_secrets
from .replacement import eviction_of
from .text import head_and_tail, without_first_word, without_last_word
from .transcript import without_secrets

__all__ = ["names_that_go"]


def names_that_go(view: ContextView, cut: Cut) -> list[str]:
    """Return the names in the messages before a cut, the most useful first; no secrets.

    Of an evicted text: those that its preview shows whole, and its path.

    Raises:
        RedactionError: The redactor failed.
    """
    return names_in(
        _named(
            without_secrets(view.journal[at], view.policy.redact),
            eviction_of(view.journal[at], view.decisions.evictions),
        )
        for at in view.body.sources[: cut.shown]
    )


def _named(message: AnyMessage, eviction: Eviction | None) -> AnyMessage:
    if eviction is None:
        return message
    # Half a secret is not recognised, and half a name is none.
    text = redact_secrets(text_of(message.content))
    head, tail = head_and_tail(text, eviction["preview"])
    whole = (without_last_word(head), eviction["path"], without_first_word(tail))
    return message.model_copy(update={"content": "\n".join(whole)})
