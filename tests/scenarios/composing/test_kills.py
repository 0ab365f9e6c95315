"""A parent that dies anywhere: what was said to the agent inside is in its journal, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, contents, say, thread
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from parents import chain, inner, journal

from longthread import agent_node


class Dying(InMemorySaver):
    """Dies in the n-th write, before or after it is stored."""

    stored = 0
    fatal = 0
    after = False

    def _count(self, store: Any) -> Any:
        self.stored += 1
        dies = self.stored == self.fatal
        if dies and not self.after:
            raise KeyboardInterrupt
        result = store()
        if dies:
            raise KeyboardInterrupt
        return result

    def put(self, *args: Any, **kwargs: Any) -> Any:
        return self._count(lambda: super(Dying, self).put(*args, **kwargs))

    def put_writes(self, *args: Any, **kwargs: Any) -> Any:
        return self._count(lambda: super(Dying, self).put_writes(*args, **kwargs))


def _reply(messages: list[Any]) -> AIMessage:
    last = str(messages[-1].content)
    return calls("a", "b", name="work") if last == "go" else AIMessage(f"heard {last}")


@pytest.mark.parametrize("resumes", [True, False])
def test_nothing_is_lost_or_said_twice_wherever_a_parent_dies(
    resumes: bool, tmp_path: Path
) -> None:
    deaths = 0
    for fatal in range(1, 100):
        saver = Dying()
        saver.fatal, saver.after = fatal, fatal % 2 == 0
        ran: list[str] = []

        def work(at: str) -> str:
            """Work."""
            ran.append(at)  # noqa: B023
            return f"did {at}"

        node = agent_node(inner(Scripted(_reply), tmp_path, [work]))
        parent = chain(saver, MessagesState, helper=node, after=_note)
        died = False
        for said in ("go", "on"):
            try:
                parent.invoke(say(said), thread(), durability="sync")
            except KeyboardInterrupt:
                died = True
                if resumes and parent.get_state(thread()).tasks:
                    parent.invoke(None, thread(), durability="sync")
        if not died:
            break
        deaths += 1
        if not resumes:
            parent.invoke(say("and?"), thread(), durability="sync")
        told = contents(parent.get_state(thread()).values["messages"])
        kept = [text for text in told if text in ("go", "on", "and?")]
        said_to = [m for m in journal(parent) if m.type == "human" and m.content != "noted"]
        assert contents(said_to) == kept, fatal
        assert len(ran) == len(set(ran)), f"a tool ran twice, {fatal}"
        ids = [m.id for m in journal(parent)]
        assert len(ids) == len(set(ids))
        assert told[-1] == "noted"
    assert deaths > 20


def _note(state: Any) -> Any:
    return {"messages": [("ai", "noted")]}
