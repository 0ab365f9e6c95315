"""Retry policies that leave context overflow alone: the same request would overflow again."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.types import RetryPolicy

from ..state.overflow import is_context_overflow

__all__ = ["without_overflow"]


def without_overflow(
    policy: RetryPolicy | Sequence[RetryPolicy] | None,
) -> list[RetryPolicy] | None:
    """Return the policies, each refusing to retry a context overflow.

    Args:
        policy: One policy, several, or None for none.
    """
    if policy is None:
        return None
    policies = [policy] if isinstance(policy, RetryPolicy) else list(policy)
    return [one._replace(retry_on=_Unless(one)) for one in policies]


class _Unless:
    """What a policy retries on, overflow apart."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.retry_on = policy.retry_on

    def __call__(self, error: Exception) -> bool:
        if is_context_overflow(error):
            return False
        if isinstance(self.retry_on, type):
            return isinstance(error, self.retry_on)
        if isinstance(self.retry_on, Sequence):
            return isinstance(error, tuple(self.retry_on))
        return self.retry_on(error)
