"""The errors that longthread raises itself.

A provider's own errors are never wrapped: what the model's client raised is what the caller sees.
"""

from __future__ import annotations

__all__ = [
    "AnswerCutOff",
    "CheckpointerError",
    "ConfigurationError",
    "LongthreadError",
    "SummaryRefused",
    "ThreadBudgetError",
    "ToolInputError",
    "UnreadableAnswer",
    "WorkspaceError",
]


class LongthreadError(Exception):
    """Base of every error that longthread raises itself.

    Args:
        message: What is wrong, the offending value included, and what to do about it.
        code: A stable, machine-readable name of the kind of error.
    """

    code: str = "LONGTHREAD_ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class ConfigurationError(LongthreadError, ValueError):
    """An argument or setting cannot be used: names the field, the value and the fix."""

    code = "INVALID_CONFIGURATION"


class AnswerCutOff(LongthreadError, ConnectionError):
    """A model's answer ended before the model said that it was done."""

    code = "ANSWER_CUT_OFF"


class UnreadableAnswer(LongthreadError, ConnectionError):
    """What came in place of a model's answer is none: an empty body, say, or a gateway's page."""

    code = "UNREADABLE_ANSWER"


class CheckpointerError(LongthreadError):
    """A checkpointer cannot be opened, or what it has stored is damaged."""

    code = "CHECKPOINTER_ERROR"


class SummaryRefused(LongthreadError):
    """What the summariser returned cannot stand in for the messages."""

    code = "SUMMARY_REFUSED"


class ThreadBudgetError(LongthreadError):
    """What has to be in every request leaves no room for the conversation."""

    code = "NO_ROOM_FOR_CONVERSATION"


class ToolInputError(LongthreadError, ValueError):
    """A tool was given an argument that it cannot use; the model is told, and can try again."""

    code = "INVALID_TOOL_INPUT"


class WorkspaceError(LongthreadError):
    """A workspace refused a name or a path, or could not be read or written."""

    code = "WORKSPACE_ERROR"
