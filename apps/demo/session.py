"""One process's share of the session: the real agent graph, and what it tells while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from ...graphs.agent import context_policy, create_agent_graph
from ...graphs.scripted import ScriptedModel
from ...state.config import CompactionConfig, MaskingConfig, MemoryConfig
from ...state.counting import text_of
from ...state.projection import ContextView, view_context
from ..replay.pricing import Priced, PromptMeter
from .places import Places
from .provider import ScriptedProvider
from .reasons import why
from .run_log import RunLog
from .side_script import Purpose
from .tools import project_tools

__all__ = ["BELIEVED", "LIMIT", "Event", "Session", "open_session"]

BELIEVED = 16_000
"""The window that the graph is told, in tokens. Small, so that a short session fills it."""
LIMIT = 11_300
"""What the provider really accepts."""

Event = dict[str, Any]
"""Something that happened, as JSON: `kind` and its facts."""

_SYSTEM = SystemMessage(
    "You look after the code of the harbour shop. You work with your tools, one small step after "
    "the other, and say in a line what you found: `Finding: …`, or decided: `Decision: …`."
)
_STEPS = 400


class Session:
    """The graph of the demo, and the events that it makes.

    Args:
        places: Where everything is.
        saver: The checkpointer.
        emit: Gets every event, from whatever thread it comes.
        hold: Whether a check that runs beside other calls waits to be killed.
    """

    def __init__(
        self, places: Places, saver: SqliteSaver, emit: Callable[[Event], None], *, hold: bool
    ) -> None:
        self._emit = emit
        self._lock = Lock()
        self._meter, self._whole = PromptMeter(), PromptMeter()
        self._state: Mapping[str, Any] = {}
        self._thread = ""
        provider = ScriptedProvider(limit=LIMIT, asked=self._asked, meter=self._meter)
        # The same model for work on the side. Its window is given apart: those requests are sized
        # by it, not by what the agent's own requests have taught about the provider.
        aside = ScriptedModel(script=provider, profile={"max_input_tokens": LIMIT})
        held = self._held if hold else None
        self.graph = create_agent_graph(
            ScriptedModel(script=provider),
            project_tools(places.project, RunLog(places.run_log), held),
            system_prompt=_SYSTEM.text,
            name="keeper",
            workspace=places.workspace,
            checkpointer=saver,
            context_window=BELIEVED,
            masking=MaskingConfig(turns=4),
            compaction=CompactionConfig(trigger_messages=0, model=aside),
            memory=MemoryConfig(model=aside, consolidation_max_tokens=1_000, background=False),
        )
        self.policy = context_policy(self.graph)
        self._meter.tools = self._whole.tools = self.policy.tools_tokens

    def play(self, thread: str, text: str | None) -> str:
        """Make one call, or finish one that was interrupted, and return the answer.

        Args:
            thread: The id of the thread.
            text: What the user says; None: resume.
        """
        self._thread = thread
        config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": _STEPS}
        given = None if text is None else {"messages": [{"role": "user", "content": text}]}
        if text is None:
            self._remember_last_request(config)
        for mode, chunk in self.graph.stream(given, config, stream_mode=["tasks", "custom"]):
            if mode == "custom":
                self.emit("event", facts=chunk)
            elif chunk["name"] in self.graph.nodes and "input" in chunk:
                self._starts(chunk["name"], chunk["input"])
        last = self.journal(thread)[-1]
        return text_of(last.content)

    def journal(self, thread: str) -> list[AnyMessage]:
        """Return everything that was said in a thread."""
        return list(self._values(thread).get("messages") or [])

    def waiting(self, thread: str) -> tuple[str, ...]:
        """Return the nodes that an interrupted call has to go on with."""
        return tuple(self.graph.get_state({"configurable": {"thread_id": thread}}).next)

    def learned_limit(self, thread: str) -> int | None:
        """Return the limit that an overflow has taught."""
        return (self._values(thread).get("overflow") or {}).get("limit")

    def emit(self, kind: str, **facts: Any) -> None:
        """Send an event."""
        with self._lock:
            self._emit({"kind": kind, "pid": os.getpid(), "thread": self._thread, **facts})

    def _values(self, thread: str) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self.graph.get_state(
            {"configurable": {"thread_id": thread}}
        ).values
        return values

    def _remember_last_request(self, config: Any) -> None:
        """The provider's cache outlives a process of ours: tell the meters what it last saw."""
        values = self.graph.get_state(config).values
        *before, answer = values["messages"]
        request = view_context({**values, "messages": before}, self.policy).messages
        self._meter.measure(request, answer)
        self._whole.measure([_SYSTEM, *before], answer)

    def _starts(self, node: str, given: Any) -> None:
        """Report that a node is visited. A tool call is a task of its own and gets only itself."""
        if not isinstance(given, Mapping):
            called = ", ".join(call["name"] for call in given)
            self.emit("node", node=node, why=f"the answer calls a tool: {called}", context=None)
            return
        self._state = given
        view = view_context(given, self.policy)
        fresh = bool(given.get("fresh_results"))
        self.emit("node", node=node, why=why(node, view, fresh=fresh), context=_context(view))

    def _held(self, call: str) -> None:
        self.emit("held", call=call)

    def _asked(self, purpose: Purpose, answer: AIMessage | None, priced: Priced) -> None:
        """Report a request and, for the agent's own, what it takes with everything in it."""
        whole = None
        if purpose == "agent" and answer is not None:
            whole = self._whole.measure([_SYSTEM, *self._state.get("messages", ())], answer)
        self.emit(
            "request",
            purpose=purpose,
            refused=answer is None,
            taken=_facts(priced),
            whole=None if whole is None else _facts(whole),
            said=text_of(answer.content) if answer is not None else "",
            calls=[_shown(call) for call in answer.tool_calls] if answer is not None else [],
        )


@contextmanager
def open_session(
    places: Places, emit: Callable[[Event], None], *, hold: bool = False
) -> Iterator[Session]:
    """Open the SQLite file and build the graph on it.

    Args:
        places: Where everything is.
        emit: Gets every event.
        hold: See `Session`.
    """
    with SqliteSaver.from_conn_string(str(places.database)) as saver:
        yield Session(places, saver, emit, hold=hold)


def _context(view: ContextView) -> dict[str, Any]:
    return {
        "parts": view.parts,
        "masked": view.body.masked,
        "evicted": view.body.evicted,
        "tokens": view.tokens,
        "window": view.window,
        "believed": view.policy.window,
        "journal": len(view.journal),
        "shown": len(view.body.messages),
        "summarised": view.decisions.size,
    }


def _facts(priced: Priced) -> dict[str, Any]:
    return {
        "tokens": priced.tokens,
        "cached": priced.cached,
        "output": priced.output,
        "cost": priced.cost,
    }


def _shown(call: Mapping[str, Any]) -> str:
    first = next(iter(call["args"].values()), "")
    return f"{call['name']} {first}".strip()
