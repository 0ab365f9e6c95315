"""What a model may be sent: one class a rule, with the invariant and who refuses its violation.

The projection keeps these rules by construction; the tests hold every request against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from .body import call_ids
from .counting import text_of
from .decisions import newest_human
from .journal import as_journal
from .sendable import is_call, is_reasoning

__all__ = [
    "RULES",
    "CallsAreAnswered",
    "CallsAreToldApart",
    "CallsCanBeRead",
    "EndIsAnswered",
    "MessagesAreNotEmpty",
    "NewestHumanIsPresent",
    "OneResultPerCall",
    "OneSystemMessage",
    "ReasoningIsUnaltered",
    "ResultsFollowTheirCall",
    "Rule",
    "TextIsWellFormed",
    "violations",
]

Request = Sequence[BaseMessage]


class Rule(Protocol):
    """One invariant of a request."""

    name: ClassVar[str]

    def violations(self, request: Request, journal: Request) -> Iterator[str]:
        """Yield what is wrong with a request that was projected from this journal."""
        ...


class ResultsFollowTheirCall:
    """Every tool result stands right after the assistant message that made the call.

    Only other results of the same message may stand between. OpenAI: "messages with role 'tool'
    must be a response to a preceding message with 'tool_calls'"; Anthropic: "unexpected
    `tool_use_id`".
    """

    name: ClassVar[str] = "results follow their call"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every result that is not right after its call."""
        open_calls: list[str] = []
        for at, message in enumerate(request):
            if isinstance(message, ToolMessage):
                if message.tool_call_id not in open_calls:
                    yield f"message {at}: result of {message.tool_call_id!r} without its call"
            else:
                open_calls = call_ids(message)


class CallsAreAnswered:
    """No unanswered call is followed by another turn.

    OpenAI: "an assistant message with 'tool_calls' must be followed by tool messages responding to
    each 'tool_call_id'"; Anthropic: "`tool_use` ids were found without `tool_result` blocks".
    """

    name: ClassVar[str] = "calls are answered"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every call that another turn follows before its result."""
        waiting: set[str] = set()
        for at, message in enumerate(request):
            if isinstance(message, ToolMessage):
                waiting.discard(message.tool_call_id)
                continue
            if waiting:
                yield f"message {at}: another turn while {sorted(waiting)} have no result"
            waiting = set(call_ids(message))


class EndIsAnswered:
    """A request does not end in calls without results: the providers above refuse that too.

    While calls run, or wait for approval, a projection does; `reasoning` sends none of those.
    """

    name: ClassVar[str] = "the end is answered"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield the calls at the end that have no result."""
        waiting: set[str] = set()
        for message in request:
            if isinstance(message, ToolMessage):
                waiting.discard(message.tool_call_id)
            else:
                waiting = set(call_ids(message))
        if waiting:
            yield f"{sorted(waiting)} have no result"


class OneResultPerCall:
    """A call has at most one result. Anthropic: "each tool_use must have a single result"."""

    name: ClassVar[str] = "one result per call"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every further result of the same call."""
        answered: set[str] = set()
        for at, message in enumerate(request):
            if isinstance(message, ToolMessage):
                if message.tool_call_id in answered:
                    yield f"message {at}: a second result of {message.tool_call_id!r}"
                answered.add(message.tool_call_id)
            else:
                answered = set()


class CallsAreToldApart:
    """Every call of a message has an id, and no two have the same.

    Anthropic: "`tool_use` ids must be unique"; OpenAI finds no result for a call without an id.
    Content blocks repeat these calls and no others: they would have no result.
    """

    name: ClassVar[str] = "calls are told apart"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every call without an id of its own."""
        for at, message in enumerate(request):
            if not isinstance(message, AIMessage):
                continue
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            if len({call["id"] for call in calls if call["id"]}) < len(calls):
                yield f"message {at}: ids of its calls are missing or repeated"
            ids = {call["id"] for call in calls}
            if any(_call_id(block) not in ids for block in message.content if is_call(block)):
                yield f"message {at}: a block repeats a call that is not there"


class CallsCanBeRead:
    """Arguments of calls are JSON objects, and every call names a tool.

    vLLM and llama.cpp read the arguments of earlier calls and refuse the request that they cannot;
    OpenAI and Anthropic refuse calls without a name. Which other names they refuse
    ("string does not match pattern '^[a-zA-Z0-9_-]+$'") they say of the tools on offer as well.
    """

    name: ClassVar[str] = "calls can be read"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every call that some provider cannot read."""
        for at, message in enumerate(request):
            if not isinstance(message, AIMessage):
                continue
            if message.invalid_tool_calls:
                yield f"message {at}: arguments that are no JSON"
            if not all(call["name"] for call in message.tool_calls):
                yield f"message {at}: a call without a name"


class OneSystemMessage:
    """There is at most one system message, and it comes first.

    Anthropic and Gemini take the system prompt apart from the conversation; many open models'
    templates raise on a second one.
    """

    name: ClassVar[str] = "one system message, first"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every system message that is not the first message."""
        for at, message in enumerate(request):
            if at and message.type == "system":
                yield f"message {at}: a system message inside the conversation"


class NewestHumanIsPresent:
    """The newest human message is in every request: without the question there is no answer."""

    name: ClassVar[str] = "the newest human message is present"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:
        """Yield the newest human message if the request lacks it."""
        messages = as_journal(journal)
        at = newest_human(messages)
        if at is not None and not any(m.id == messages[at].id for m in request):
            yield f"the human message {messages[at].id!r} is missing"


class ReasoningIsUnaltered:
    """A turn with reasoning or thinking blocks is shown whole and unaltered, or not at all.

    The blocks are signed; Anthropic: "`thinking` blocks in the latest assistant message cannot be
    modified".
    """

    name: ClassVar[str] = "reasoning is unaltered"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:
        """Yield every turn with reasoning whose content, calls apart, is not the journal's."""
        originals = {m.id: m for m in journal}
        for at, message in enumerate(request):
            if not _has_reasoning(message):
                continue
            original = originals.get(message.id)
            if original is None or _without_calls(original) != _without_calls(message):
                yield f"message {at}: reasoning was altered"


class MessagesAreNotEmpty:
    """A message says, holds or calls something, and reasoning alone is not that.

    Anthropic: "all messages must have non-empty content", "The final block in an assistant message
    cannot be `thinking`"; OpenAI: "'reasoning' was provided without its required following item",
    and providers whose results are texts refuse one that is an empty list.
    """

    name: ClassVar[str] = "messages are not empty"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every message that is empty."""
        for at, message in enumerate(request):
            if call_ids(message) or (isinstance(message, ToolMessage) and message.content == ""):
                continue
            content = message.content
            blocks = [content] if isinstance(content, str) else content
            thinks = isinstance(message, AIMessage)
            if all(block == "" or (thinks and is_reasoning(block)) for block in blocks):
                yield f"message {at}: an empty {message.type} message"


class TextIsWellFormed:
    """All text can be encoded as UTF-8: a lone surrogate breaks the request's JSON everywhere."""

    name: ClassVar[str] = "text is well-formed"

    def violations(self, request: Request, journal: Request) -> Iterator[str]:  # noqa: ARG002
        """Yield every message with text that cannot be encoded."""
        for at, message in enumerate(request):
            try:
                text_of(message.content).encode("utf-8")
            except UnicodeEncodeError as error:
                yield f"message {at}: {error.reason} at character {error.start}"


RULES: tuple[Rule, ...] = (
    ResultsFollowTheirCall(),
    CallsAreAnswered(),
    OneResultPerCall(),
    CallsAreToldApart(),
    CallsCanBeRead(),
    OneSystemMessage(),
    NewestHumanIsPresent(),
    ReasoningIsUnaltered(),
    MessagesAreNotEmpty(),
    TextIsWellFormed(),
)


def violations(request: Request, journal: Request, *, to_send: bool = False) -> list[str]:
    """Hold a request against every rule.

    Args:
        request: What `project_context` returned.
        journal: The journal it was computed from.
        to_send: Whether it is about to be sent, so that its end has to be answered too.

    Returns:
        What is wrong, each with the name of its rule; empty for a valid request.
    """
    rules = (*RULES, EndIsAnswered()) if to_send else RULES
    return [f"{rule.name}: {what}" for rule in rules for what in rule.violations(request, journal)]


def _has_reasoning(message: BaseMessage) -> bool:
    return isinstance(message.content, list) and any(map(is_reasoning, message.content))


def _without_calls(message: BaseMessage) -> list[Any]:
    return [block for block in message.content if not is_call(block)]


def _call_id(block: Any) -> Any:
    return block.get("call_id" if block["type"] == "function_call" else "id")
