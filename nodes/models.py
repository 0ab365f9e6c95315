"""Calling a model from a node, and what its answer says about tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig, patch_config
from langgraph.constants import TAG_NOSTREAM

from .node import Effect, Run, Steps

__all__ = [
    "Model",
    "auxiliary_answer",
    "auxiliary_config",
    "cached_tokens",
    "call_model",
    "clamped",
    "input_tokens",
    "stop_reason_of",
]

Model = Runnable[Any, AIMessage] | BaseChatModel

# What providers call it: OpenAI, Anthropic, Google, Bedrock, Mistral, Cohere, DeepSeek, Ollama.
_STOP_KEYS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_CUT = frozenset(
    {
        *("length", "max_tokens", "model_length", "max_output_tokens", "error_limit"),
        "model_context_window_exceeded",
    }
)
_REFUSED = frozenset(
    {
        *("content_filter", "content_filtered", "refusal", "safety", "image_safety", "blocklist"),
        *("prohibited_content", "recitation", "spii", "guardrail_intervened", "error_toxic"),
    }
)
_FAILED = frozenset(
    {
        *("error", "other", "malformed_function_call", "unexpected_tool_call"),
        *("insufficient_system_resource", "cancelled"),
    }
)


def call_model(
    model: Runnable[Any, Any], messages: Sequence[AnyMessage], config: RunnableConfig
) -> Effect:
    """An effect: one request to a model."""
    request = list(messages)
    return Effect(
        run=lambda: model.invoke(request, config), arun=lambda: model.ainvoke(request, config)
    )


def auxiliary_answer(
    model: Model, run: Run, *, name: str, system: str | None, prompt: str
) -> Steps[AIMessage]:
    """Ask a model on the side: its tokens never reach the user's stream.

    Args:
        model: The model to ask.
        run: Where the node runs.
        name: Run name and tag, so that traces and usage tell it from the agent's own calls.
        system: A system prompt.
        prompt: The human message.

    Returns:
        The model's answer.
    """
    request: list[AnyMessage] = [SystemMessage(system)] if system else []
    request.append(HumanMessage(prompt))
    answer: AIMessage = yield call_model(model, request, auxiliary_config(run, name))
    return answer


def auxiliary_config(run: Run, name: str) -> RunnableConfig:
    """Return the configuration of a request on the side: named, tagged and not streamed."""
    config = patch_config(run.config, run_name=name)
    config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM, f"longthread:{name}"]
    return config


def clamped(model: Model, reserve: int | None) -> Model:
    """Return a model that asks for no longer answers than its provider has said it gives.

    Args:
        model: The model.
        reserve: What was learned from a refusal in tokens; None: nothing.
    """
    return model if reserve is None else cast(Model, model.bind(max_tokens=reserve))


def input_tokens(answer: AIMessage) -> int | None:
    """Return the provider's count of the whole request, cached tokens included, if it gave one."""
    # LangChain's cache gives an answer that had none one with a price and nothing else.
    usage = answer.usage_metadata
    return usage.get("input_tokens") or None if usage else None


def cached_tokens(answer: AIMessage) -> int:
    """Return how many tokens of the request the provider says it has read from its cache."""
    usage = answer.usage_metadata
    details = usage.get("input_token_details") if usage else None
    return int(details.get("cache_read") or 0) if details else 0


def stop_reason_of(answer: AIMessage) -> Literal["cut", "refused", "failed"] | None:
    """Say why an answer cannot be taken as it is: cut at its token limit, refused, an error."""
    metadata = answer.response_metadata
    reason = next((str(metadata[key]) for key in _STOP_KEYS if metadata.get(key)), "")
    reason = reason.rpartition(".")[2].lower()  # an enum's member says its class as well
    if reason in _CUT:
        return "cut"
    if reason in _FAILED:
        return "failed"
    if reason in _REFUSED or answer.additional_kwargs.get("refusal"):
        return "refused"
    return None
