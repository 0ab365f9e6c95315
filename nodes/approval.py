"""A person decides on a tool call before it runs, in the terms of LangChain's own agents.

Each call that asks pauses for itself. What a client is shown and what it answers are those of
`HumanInTheLoopMiddleware(interrupt_mode="per_call")`, so a user interface made for it works here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, Union

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from pydantic import AfterValidator, Discriminator
from typing_extensions import TypedDict

from ..state.errors import ConfigurationError
from .node import Effect

__all__ = ["BEGIN", "Approval", "undecided"]

BEGIN: ContextVar[Effect | None] = ContextVar("longthread_begin", default=None)
"""What records that a call is about to run: a call that is asked about is not begun before that."""

_KIND = "tool_approval"
_DECISIONS = ("approve", "edit", "reject", "respond")
_EDITED = (
    "[A person changed this call before it ran, to {args}. That was intended: do not repeat the "
    "original call.]"
)
_REJECTED = "A person rejected this call; it did not run. Do not repeat it unless asked to.{reason}"

_UNDECIDED = "[this tool call waited for approval and did not run: something else was said instead]"


class Action(TypedDict):
    name: str
    args: dict[str, Any]


class Approve(TypedDict):
    type: Literal["approve"]


class Reject(TypedDict):
    type: Literal["reject"]
    message: NotRequired[str]


class Respond(TypedDict):
    type: Literal["respond"]
    message: str


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked about the calls of one tool."""

    answers: Any
    description: str | Callable[[ToolCall, Any, Any], str] | None
    when: Callable[[ToolCallRequest], bool] | None


@dataclass(frozen=True, slots=True)
class Approval:
    """Asks before calls of some tools run: `wrap_tool_call` and `awrap_tool_call` of a `ToolNode`.

    Args:
        questions: What is asked, by the name of the tool.
    """

    questions: Mapping[str, _Question]

    @classmethod
    def of(cls, interrupt_on: Any, tools: Mapping[str, Any]) -> Approval | None:
        """Read what an application wants; None: nothing is asked.

        Args:
            interrupt_on: For each tool `True`, `False`, or a dict of `allowed_decisions`,
                `description` (a text, or a function of call, state and runtime) and `when` (a
                function of the `ToolCallRequest` that says whether to ask).
            tools: The tools that the agent runs, by name.

        Raises:
            ConfigurationError: It cannot be used.
        """
        if interrupt_on is None:
            return None
        if not isinstance(interrupt_on, Mapping):
            raise ConfigurationError(
                f"interrupt_on={interrupt_on!r}: pass a dict of tools, {{'pay': True}}"
            )
        for name in interrupt_on.keys() - tools.keys():
            known = ", ".join(map(repr, sorted(tools))) or "none"
            raise ConfigurationError(
                f"interrupt_on={name!r}: the agent runs no tool of that name; it has {known}"
            )
        asked = {n: _question(n, want) for n, want in interrupt_on.items() if want is not False}
        return cls(asked) if asked else None

    def asks_about(self, name: str) -> bool:
        """Whether a call of this tool may have to wait for a decision."""
        return name in self.questions

    def reads_state(self, name: str) -> bool:
        """Whether a function of the application looks at the state before a call of this tool."""
        question = self.questions.get(name)
        return question is not None and (
            question.when is not None or callable(question.description)
        )

    def wrap(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """Ask, then do what was decided."""
        decided = self._decided(request)
        if isinstance(decided, ToolMessage):
            return decided
        begin = BEGIN.get()
        if begin is not None:
            begin.run()
        return _told(request, decided, execute(decided))

    async def awrap(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Ask, then do what was decided."""
        decided = self._decided(request)
        if isinstance(decided, ToolMessage):
            return decided
        begin = BEGIN.get()
        if begin is not None:
            await begin.arun()
        return _told(request, decided, await execute(decided))

    def _decided(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        """Pause for an answer; return the call to run, or what stands in for its result."""
        call = request.tool_call
        question = self.questions.get(call["name"])
        if question is None or (question.when is not None and not question.when(request)):
            return request
        shown = question.description
        if callable(shown):
            shown = shown(call, request.state, request.runtime)
        answer: Any = interrupt(
            {
                "type": _KIND,
                "tool_call_id": call["id"],
                "name": call["name"],
                "args": call["args"],
                "description": shown or f"{call['name']} waits for approval.",
            },
            response_schema=question.answers,
        )
        if answer["type"] == "approve":
            return request
        if answer["type"] == "edit":
            edited: ToolCall = {**call, "args": answer["edited_action"]["args"]}
            return request.override(tool_call=edited)
        if answer["type"] == "respond":
            return _result(call, answer["message"], "success")
        reason = f" Reason: {answer['message']}" if answer.get("message") else ""
        return _result(call, _REJECTED.format(reason=reason), "error")


def undecided(asked: Any) -> ToolMessage | None:
    """Return what the model is told of a call that nobody decided on; None: it is no such call.

    Args:
        asked: What `interrupt()` was called with.
    """
    if not isinstance(asked, Mapping) or asked.get("type") != _KIND:
        return None
    call = ToolCall(name=asked["name"], args=asked["args"], id=asked["tool_call_id"])
    return _result(call, _UNDECIDED, "error")


def _question(name: str, wanted: Any) -> _Question:
    """Check what is wanted for one tool."""
    field = f"interrupt_on[{name!r}]"
    if wanted is True:
        wanted = {}
    if not isinstance(wanted, Mapping) or wanted.keys() - {
        "allowed_decisions",
        "description",
        "when",
        "args_schema",
    }:
        raise ConfigurationError(
            f"{field}={wanted!r}: pass True, False, or a dict of allowed_decisions, description "
            "and when"
        )
    allowed = wanted.get("allowed_decisions", _DECISIONS)
    if (
        isinstance(allowed, str)
        or not allowed
        or any(decision not in _DECISIONS for decision in allowed)
    ):
        raise ConfigurationError(
            f"{field}: allowed_decisions={allowed!r}; name some of {', '.join(_DECISIONS)}"
        )
    kinds: dict[str, Any] = {
        "approve": Approve,
        "edit": _edit_of(name),
        "reject": Reject,
        "respond": Respond,
    }
    members = tuple(kinds[decision] for decision in dict.fromkeys(allowed))
    answers: Any = members[0]
    if len(members) > 1:
        answers = Annotated[Union[members], Discriminator("type")]  # noqa: UP007
    return _Question(answers, wanted.get("description"), wanted.get("when"))


def _edit_of(name: str) -> Any:
    """An edit of a call of this tool: other arguments, not another tool."""

    def same_tool(action: Action) -> Action:
        if action["name"] != name:
            raise ValueError(f"an edit cannot change the tool: {action['name']!r} is not {name!r}")
        return action

    made: Any = TypedDict  # mypy reads calls of it only where a name is bound
    action = Annotated[Action, AfterValidator(same_tool)]
    return made("Edit", {"type": Literal["edit"], "edited_action": action})


def _result(call: ToolCall, text: str, status: Literal["success", "error"]) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status=status)


def _told(asked: ToolCallRequest, ran: ToolCallRequest, result: Any) -> Any:
    """Say in the result what was run, where that is not what the model had asked for."""
    args = ran.tool_call["args"]
    if args == asked.tool_call["args"]:
        return result
    note = _EDITED.format(args=json.dumps(args, ensure_ascii=False, default=str))
    if isinstance(result, ToolMessage):
        return _with_note(result, note)
    if isinstance(result, Command) and isinstance(result.update, Mapping):
        messages = [
            _with_note(message, note)
            if isinstance(message, ToolMessage) and message.tool_call_id == asked.tool_call["id"]
            else message
            for message in result.update.get("messages", ())
        ]
        return replace(result, update={**result.update, "messages": messages})
    return result


def _with_note(message: ToolMessage, note: str) -> ToolMessage:
    content = message.content
    added: Any = (
        f"{note}\n{content}"
        if isinstance(content, str)
        else [{"type": "text", "text": note}, *content]
    )
    return message.model_copy(update={"content": added})
