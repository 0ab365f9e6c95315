"""What our own tools have in common: arguments in both spellings, and errors that can be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, ClassVar, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_snake

from ...state.errors import LongthreadError
from ..node import Run

__all__ = ["MatchModeArgument", "ScopeArgument", "own_tool", "page_chars_of"]

# LangGraph hands its runtime only to a parameter whose annotation is nothing but `ToolRuntime`.
_OUTSIDE = cast(ToolRuntime, None)

MatchModeArgument = Annotated[
    Any, WithJsonSchema({"type": "string", "enum": ["phrase", "all", "any"]})
]
"""A match mode as the model is shown it; what it sends is for `parse_match_mode` to judge."""

ScopeArgument = Annotated[Any, WithJsonSchema({"type": "string", "enum": ["agent", "global"]})]
"""A scope as the model is shown it; what it sends is for `parse_scope` to judge."""


def page_chars_of(window: int) -> int:
    """Return the most characters of a result: an eighth of the window, at four characters a token.

    It must not be oversized itself.
    """
    return max(1_000, min(20_000, window // 2))


def own_tool(
    function: Callable[..., str],
    *,
    name: str,
    description: str,
    arguments: type[BaseModel],
    afunction: Callable[..., Awaitable[str]] | None = None,
) -> BaseTool:
    """Make a tool of a function.

    The model may write an argument in camelCase, and `null` for one that can be left out. What the
    function raises on purpose (`LongthreadError`), and arguments that do not fit, become a result
    that the model can read.

    Args:
        function: Gets where it runs, then the arguments by name. It may block: in asynchronous code
            it runs in a thread, unless there is `afunction`.
        name: The tool's name.
        description: What the model is told of it.
        arguments: The arguments, in snake_case.
        afunction: Its asynchronous twin.
    """

    def answered(runtime: ToolRuntime = _OUTSIDE, **given: Any) -> str:
        run = Run({}, None) if runtime is _OUTSIDE else Run(runtime.config, runtime)
        try:
            return function(run, **given)
        except LongthreadError as error:
            raise ToolException(f"Error: {error}") from error

    async def aanswered(runtime: ToolRuntime = _OUTSIDE, **given: Any) -> str:
        assert afunction is not None
        run = Run({}, None) if runtime is _OUTSIDE else Run(runtime.config, runtime)
        try:
            return await afunction(run, **given)
        except LongthreadError as error:
            raise ToolException(f"Error: {error}") from error

    return _OwnTool(
        name=name,
        description=description,
        args_schema=arguments,
        func=answered,
        coroutine=None if afunction is None else aanswered,
        handle_tool_error=True,
        handle_validation_error=_unfit,
        # Reading twice is harmless, and what is saved a second time is recognised.
        metadata={"idempotent": True},
    )


class _OwnTool(StructuredTool):
    """A tool whose arguments have two spellings."""

    only_reads_state: ClassVar[bool] = True

    def _parse_input(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> str | dict[str, Any]:
        if isinstance(tool_input, Mapping):
            assert isinstance(self.args_schema, type)
            assert issubclass(self.args_schema, BaseModel)
            tool_input = _arguments(tool_input, self.args_schema)
        return super()._parse_input(tool_input, tool_call_id)


def _arguments(given: Mapping[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
    """Return the arguments under the names of the schema, without nulls that mean "left out"."""
    fields = schema.model_fields
    arguments: dict[str, Any] = {}
    for key, value in given.items():
        snake = to_snake(key)
        name = key if key in fields or snake not in fields or snake in given else snake
        if value is None and name in fields and not fields[name].is_required():
            continue
        arguments[name] = value
    return arguments


def _unfit(error: Any) -> str:
    """Say in a line which arguments do not fit, and why."""
    if not isinstance(error, ValidationError):
        return f"Error: {error}"
    problems = (
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
    )
    return f"Error: {'; '.join(problems)}. Call the tool again with arguments that fit."
