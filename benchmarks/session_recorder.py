"""Writing down an invented session: messages in chat format, and which names it has shown when."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from longthread.state.estimate import estimate_tokens

__all__ = ["Message", "Recorder", "heavy_tailed", "words"]

Message = dict[str, Any]

# How many steps ago a name that an answer uses was last seen: share of the uses, furthest step. The
# recorded sessions in reach use 85 to 98 % within ten steps, 2 to 5 % after more than twenty and
# 0.2 to 0.4 % after more than fifty; the last line is any earlier step.
_LAGS = ((0.64, 1), (0.21, 4), (0.10, 12), (0.04, 30), (0.01, None))


class Recorder:
    """A session in the making.

    Args:
        seed: Same seed, same session.
        tokens: How long it shall become, roughly: by the estimate that needs no vocabulary, so that
            a session is the same wherever it is made.
    """

    def __init__(self, seed: str, tokens: int) -> None:
        self.rng = random.Random(seed)
        self.messages: list[Message] = []
        self.tokens = 0
        self.limit = tokens
        self.step = 0
        self._shown: dict[str, dict[str, int]] = {}

    @property
    def full(self) -> bool:
        """Whether the session is as long as it shall become."""
        return self.tokens >= self.limit

    def system(self, text: str) -> None:
        """Open with a system prompt."""
        self._add({"role": "system", "content": text}, text)

    def human(self, text: str) -> None:
        """Say something as the human."""
        self._add({"role": "user", "content": text}, text)

    def say(self, text: str) -> None:
        """Answer without calling a tool."""
        self.step += 1
        self._add({"role": "assistant", "content": text}, text)

    def call(self, text: str, name: str, arguments: dict[str, Any], result: str) -> None:
        """Answer with one call, and its result."""
        self.calls(text, [(name, arguments, result)])

    def calls(self, text: str, calls: Sequence[tuple[str, dict[str, Any], str]]) -> None:
        """Answer with calls at once, and their results: name, arguments, result of each."""
        self.step += 1
        made: list[Message] = []
        for at, (name, arguments, _) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            made.append({"id": f"call_{self.step}_{at}", "type": "function", "function": function})
        message: Message = {"role": "assistant", "content": text, "tool_calls": made}
        self._add(message, text + "".join(call["function"]["arguments"] for call in made))
        for call, (name, _, result) in zip(made, calls, strict=True):
            entry = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": result}
            self._add(entry, result)

    def show(self, kind: str, names: Iterable[str]) -> None:
        """Note that names have just been seen."""
        shown = self._shown.setdefault(kind, {})
        for name in names:
            shown.pop(name, None)
            shown[name] = self.step

    def recall(self, kind: str, default: str) -> str:
        """Return a name that was shown, mostly a recent one, now and then one from long ago."""
        shown = self._shown.get(kind)
        if not shown:
            return default
        names, steps = list(shown), list(shown.values())
        after = bisect_right(steps, self.step - self._lag())
        # The names of the nearest step that is at least so long ago; else the oldest.
        step = steps[max(0, after - 1)]
        name = self.rng.choice([n for n in names[: max(1, after)][-40:] if shown[n] == step])
        self.show(kind, [name])
        return name

    def earliest(self, kind: str, default: str) -> str:
        """Return one of the names that have not been seen for longest."""
        shown = self._shown.get(kind)
        if not shown:
            return default
        name = self.rng.choice(list(shown)[:12])
        self.show(kind, [name])
        return name

    def _lag(self) -> int:
        nearest = 0
        at = self.rng.random()
        for share, furthest in _LAGS:
            if at < share:
                last = max(nearest, self.step) if furthest is None else furthest
                return self.rng.randint(nearest, last)
            at -= share
            nearest = (furthest or 0) + 1
        return 0

    def _add(self, message: Message, text: str) -> None:
        self.messages.append(message)
        self.tokens += estimate_tokens(text) + 4


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


def heavy_tailed(rng: random.Random, *, median: float, spread: float, most: int) -> int:
    """Return a size of which most are near the median and a few are many times as large.

    Args:
        rng: Where chance comes from.
        median: Half of them are smaller.
        spread: Standard deviation of the logarithm: at 1.2, one in a hundred is
            16 times the median.
        most: Bound.
    """
    return max(1, min(most, round(median * rng.lognormvariate(0, spread))))
