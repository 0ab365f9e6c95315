"""What the model is sent: a pure function of the thread's state and the agent's policy.

Order: system prompt, one reference message (memory, further material, summary), the newest human
message again if the cut has passed it, then the journal from the cut on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from .body import Body, body_of, leading_system_messages
from .budget import Budget
from .counting import count_message, count_text, text_of
from .decisions import Compaction, Decisions, OverflowState, Rolling, Usage, after
from .journal import Journal, as_journal
from .policy import ContextPolicy
from .reference import digest, memory_prompt, reference_message
from .replacement import as_shown, eviction_of, well_formed_message
from .text import well_formed

__all__ = ["ContextView", "project_context", "view_context"]


def project_context(
    state: Mapping[str, Any], policy: ContextPolicy, *, system: SystemMessage | None = None
) -> list[AnyMessage]:
    """Compute the messages that the model is sent.

    Args:
        state: The thread's state; channels that are missing count as empty.
        policy: The agent's policy, see `context_policy`.
        system: The system prompt, when the policy's own is a callable.

    Returns:
        A valid request: same state, same messages, byte for byte. `state` is not changed.
    """
    messages = state.get("messages")
    if isinstance(messages, Journal) and messages.is_touched:
        # What a call has returned is its caller's, and so is what they have put there.
        state = {**state, "messages": list(messages)}
    return view_context(state, policy, system=system).messages


def view_context(
    state: Mapping[str, Any], policy: ContextPolicy, *, system: SystemMessage | None = None
) -> ContextView:
    """Compute the projection together with what it costs, by part."""
    journal = as_journal(state.get("messages"))
    decisions = Decisions.read(state, journal)
    return ContextView(
        policy=policy,
        journal=journal,
        decisions=decisions,
        body=body_of(journal, decisions, policy),
        prompt=system or (policy.system if isinstance(policy.system, SystemMessage) else None),
        compaction=cast(Compaction, state.get("compaction") or {}),
        usage=cast(Usage, state.get("usage") or {}),
        overflow=cast(OverflowState, state.get("overflow") or {}),
        rolling=state.get("rolling") or None,
    )


@dataclass(frozen=True)
class ContextView:
    """A request and its parts. Token figures are estimates, see `tokens` for the best one."""

    policy: ContextPolicy
    journal: Journal
    decisions: Decisions
    body: Body
    prompt: SystemMessage | None
    compaction: Compaction
    usage: Usage
    overflow: OverflowState
    rolling: Rolling | None = None

    @cached_property
    def system(self) -> SystemMessage | None:
        """System prompt, leading system messages and (if it goes there) memory, as one message."""
        leading = self.journal[: leading_system_messages(self.journal)]
        sources = [*([self.prompt] if self.prompt else []), *leading]
        if self.policy.memory_in_system and self.decisions.memory:
            sources.append(SystemMessage(memory_prompt(self.decisions.memory)))
        sources = [message for message in sources if text_of(message.content).strip()]
        if not sources:
            return None
        if len(sources) == 1:
            return well_formed_message(SystemMessage(sources[0].content, id=sources[0].id))
        return SystemMessage(well_formed("\n\n".join(text_of(m.content) for m in sources)))

    @cached_property
    def reference(self) -> HumanMessage | None:
        """Memory, further material and the summary."""
        decisions = self.decisions
        items = [decisions.further]
        if not self.policy.memory_in_system:
            items.insert(0, decisions.memory)
        shown = "\n".join(item for item in items if item)
        return reference_message(shown, decisions.shown_summary, decisions.size)

    @cached_property
    def again(self) -> AnyMessage | None:
        """The human message that the cut has passed, shown again."""
        at = self.decisions.again
        if at is None:
            return None
        message = self.journal[at]
        eviction = eviction_of(message, self.decisions.evictions)
        shed = at < self.decisions.shed
        return as_shown(message, masked=False, eviction=eviction, policy=self.policy, shed=shed)

    @property
    def head(self) -> list[AnyMessage]:
        """What stands before the journal: system prompt, reference, a human message shown again."""
        return [m for m in (self.system, self.reference, self.again) if m is not None]

    @property
    def messages(self) -> list[AnyMessage]:
        """The request."""
        return [*self.head, *self.body.messages]

    @cached_property
    def parts(self) -> dict[str, int]:
        """Estimated tokens by part, in request order.

        `system`, `tools`, `reference`, `summary` and `messages` add up to the request; what masks
        and evictions keep out of it stands in `body.masked` and `body.evicted`.
        """
        shown = self.decisions.shown_summary
        summary = count_text(shown) if shown else 0
        reference = count_message(self.reference) if self.reference else 0
        system = count_message(self.system) if self.system else 0
        if self.prompt is None and callable(self.policy.system):
            system = max(system, self.usage.get("system_tokens", 0))
        return {
            "system": system,
            "tools": self.policy.tools_tokens,
            "reference": max(0, reference - summary),
            "summary": summary,
            "messages": self.body.total + (count_message(self.again) if self.again else 0),
        }

    @cached_property
    def estimated(self) -> int:
        """The whole request by our own estimate."""
        return sum(self.parts.values())

    @cached_property
    def tokens(self) -> int:
        """The whole request, from the provider's last count where that still stands.

        While no decision has changed the prefix, that count is the baseline and only what came
        after is estimated; once one has, the whole is estimated anew, corrected by how far off the
        last estimate was.
        """
        counted, estimated = self.usage.get("input_tokens"), self.usage.get("estimated")
        if not counted or not estimated:
            return self.estimated
        ratio = min(3.0, counted / estimated)
        if ratio < 0.5:
            return self.estimated  # whatever that provider counts, it is not the whole request
        if self.prefix_stands:
            return counted + round((self.estimated - estimated) * ratio)
        return round(self.estimated * ratio)

    @property
    def prefix_stands(self) -> bool:
        """Whether the next request begins with all that the last one was."""
        if self.usage.get("decisions") != self.fingerprint:
            return False
        if not self.covered:
            return False
        evictions = list(self.decisions.evictions)[self.usage.get("evictions", 0) :]
        return all((self.journal.position(i) or 0) >= self.covered for i in evictions)

    @property
    def covered(self) -> int:
        """The journal position after what the last request had; 0 before the first."""
        return after(self.journal, self.usage.get("covered"), self.usage.get("position"))

    @cached_property
    def fingerprint(self) -> str:
        """Names the decisions behind the prefix; evictions of later messages do not matter."""
        decisions = self.decisions
        parts = (
            self.body.start,
            decisions.masked,
            decisions.arguments,
            decisions.shed,
            decisions.generation,
            decisions.again,
            digest(decisions.shown_summary),
            digest(decisions.memory),
            digest(decisions.further),
            digest(text_of(self.system.content)) if self.system else "",
        )
        return digest(repr(parts))

    @property
    def conversation_tokens(self) -> int:
        """What of the request is conversation: all but the budget's overhead."""
        return self.tokens - self.budget.overhead

    @cached_property
    def window(self) -> int:
        """The window in force: the policy's, or what an overflow has taught if that is less."""
        limit = self.overflow.get("limit")
        return min(self.policy.window, limit) if limit else self.policy.window

    @cached_property
    def budget(self) -> Budget:
        """How the window is divided."""
        parts = self.parts
        overhead = parts["system"] + parts["tools"] + parts["reference"]
        reserve = self.overflow.get("reserve", self.policy.output_reserve)
        return Budget.of(self.window, output_reserve=reserve, overhead=overhead)

    def usage_of_request(self, input_tokens: int | None, cached: int = 0) -> Usage:
        """Return the record that makes the provider's count the baseline of the next requests.

        Args:
            input_tokens: The provider's count; None or 0 if it gave none (while streaming, say).
                The last one it gave then stays the baseline.
            cached: How many of them it has read from its cache.
        """
        covered = self.journal[-1].id if self.journal else None
        if not input_tokens and self.usage.get("input_tokens"):
            last = self.usage.copy()
            last["covered"], last["position"] = covered, len(self.journal)
            last["system_tokens"] = self.parts["system"]
            return last
        usage = Usage(
            input_tokens=input_tokens or 0,
            estimated=self.estimated,
            covered=covered,
            position=len(self.journal),
            decisions=self.fingerprint,
            evictions=len(self.decisions.evictions),
            system_tokens=self.parts["system"],
        )
        read = cached or self.usage.get("cached", 0)
        if read:
            usage["cached"] = read
        return usage
