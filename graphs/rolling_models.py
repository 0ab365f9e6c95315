"""Which model summarises a thread on demand: as the thread was told when it was created."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.language_models import BaseChatModel

from ..nodes.summariser import Summariser
from ..state.config import RollingCompactionConfig
from .models import window_of

__all__ = ["RollingModels"]


class RollingModels:
    """Resolves the recorded name of a model.

    Args:
        main: The thread's own model.
        config: What the agent is configured with; a name that cannot be resolved is an error now.
        resolve: Makes a model from its name.
    """

    def __init__(
        self,
        main: BaseChatModel,
        config: RollingCompactionConfig | None,
        resolve: Callable[..., BaseChatModel],
    ) -> None:
        self._resolve = resolve
        self._own = Summariser(main)
        self._configured = self._own
        if config is not None and config.model != "default":
            model = resolve(config.model, field="RollingCompactionConfig.model")
            self._configured = Summariser(model, window_of(model))
        self._name = config.model if config is not None else "default"

    def __call__(self, name: str) -> Summariser:
        """Return the summariser for a recorded name."""
        if name == "default":
            return self._own
        if name in ("configured", self._name):
            return self._configured
        model = self._resolve(name, field="the model that this thread's rolling compaction names")
        return Summariser(model, window_of(model))
