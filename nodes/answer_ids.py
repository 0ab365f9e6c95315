"""The ids of answers and of the calls in them: none that the thread has already.

By its id a message replaces an earlier one, in the journal and in whatever reads a stream. Some
servers give every answer the same id, and a cache of a model's answers gives them all again, those
too that LangChain has made from the run of a model (`LC_ID_PREFIX`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig

from ..state.projection import ContextView
from ..state.replacement import well_formed_message

__all__ = ["AnswerIds"]

_OF_A_RUN = "lc_run--"


class AnswerIds:
    """Which id the next answer gets: the provider's, or one made for it if that is taken.

    Args:
        view: The projection that the answer is asked for with.
        shared: Whether an id may be taken where nobody looks: in a sealed part of the journal, by
            another agent of a parent graph. Then only what was made for this very request is free.
    """

    def __init__(self, view: ContextView, *, shared: bool) -> None:
        self.journal = view.journal
        self._shared = shared
        self._runs: list[str] = []
        self._fresh = f"run-{uuid.uuid4()}"
        self._asked: dict[str, str] = {}

    def begin(self, run_id: uuid.UUID) -> None:
        """Take in that a run of a model has begun: ids made from it are nobody else's."""
        self._runs.append(f"{_OF_A_RUN}{run_id}")

    def of(self, given: str | None) -> str:
        """Return the id that an answer goes by which came with this one."""
        if not given:
            return self._fresh
        if given not in self._asked:
            taken = self.journal.position(given) is not None
            if self._shared and not given.startswith(tuple(self._runs)):
                taken = True
            self._asked[given] = self._fresh if taken else given
        return self._asked[given]

    def prepared(self, answer: AIMessage) -> AIMessage:
        """Return the answer with ids that nothing has yet: nothing is overwritten."""
        update: dict[str, Any] = {}
        if self.of(answer.id) != answer.id:
            update["id"] = self.of(answer.id)
        # Content blocks repeat the ids of their calls: those stay as they are.
        blocks = [] if isinstance(answer.content, str) else answer.content
        fixed = {block.get("id") for block in blocks if isinstance(block, dict)}
        own: set[str] = set()
        calls = self._with_fresh_ids(answer.tool_calls, fixed, own)
        invalid = self._with_fresh_ids(answer.invalid_tool_calls, fixed, own)
        if calls != answer.tool_calls or invalid != answer.invalid_tool_calls:
            update |= {"tool_calls": calls, "invalid_tool_calls": invalid}
        # Copied in any case: a model may keep what it has said, and say it again with changes.
        return well_formed_message(answer.model_copy(update=update))

    def _with_fresh_ids(self, calls: Sequence[Any], fixed: set[Any], own: set[str]) -> list[Any]:
        taken = {call["id"] for call in calls if call["id"] in self.journal.calls} - fixed
        return [_with_fresh_id(call, taken, own) for call in calls]

    def heard(self, config: RunnableConfig) -> RunnableConfig:
        """Return the configuration of a request whose stream, if one is read, shows the same id."""
        manager = config.get("callbacks")
        if not isinstance(manager, BaseCallbackManager) or not manager.handlers:
            return config
        manager = manager.copy()
        renames = _Renames(self)
        # Before those that pass on what they hear.
        manager.handlers.insert(0, renames)
        manager.inheritable_handlers.insert(0, renames)
        return {**config, "callbacks": manager}


class _Renames(BaseCallbackHandler):
    """Gives what a model says its id before anybody hears it.

    LangGraph's stream and the model itself hold the same chunk: what is put into it here is what
    both have. Messages are never changed, a cache may hold them.
    """

    run_inline = True

    def __init__(self, ids: AnswerIds) -> None:
        self.ids = ids

    def on_chat_model_start(
        self,
        serialized: Any,  # noqa: ARG002
        messages: Any,  # noqa: ARG002
        *,
        run_id: uuid.UUID,
        **_: Any,
    ) -> None:
        """Learn which run the answer is of."""
        self.ids.begin(run_id)

    def on_llm_new_token(
        self,
        token: Any,  # noqa: ARG002
        *,
        chunk: Any = None,
        **_: Any,
    ) -> None:
        """Rename a chunk."""
        if isinstance(chunk, ChatGenerationChunk):
            self._rename(chunk)

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Rename an answer that came at once."""
        for generations in response.generations:
            for generation in generations:
                self._rename(generation)

    def on_stream_event(self, event: Any, **_: Any) -> None:
        """Rename the message that an event of LangChain's newer protocol begins."""
        if not isinstance(event, dict) or event.get("event") != "message-start":
            return
        for key in ("id", "message_id"):  # which one depends on the version
            if event.get(key):
                event[key] = self.ids.of(event[key])

    def _rename(self, generation: Any) -> None:
        message = getattr(generation, "message", None)
        if message is not None and message.id and self.ids.of(message.id) != message.id:
            renamed = message.model_copy(update={"id": self.ids.of(message.id)})
            generation.message = renamed


def _with_fresh_id(call: Any, known: set[str], own: set[str]) -> Any:
    if call["id"] and call["id"] not in known and call["id"] not in own:
        own.add(call["id"])
        return call
    return {**call, "id": f"call_{uuid.uuid4().hex[:24]}"}
