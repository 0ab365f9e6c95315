"""Where a thread's tokens went, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..state.errors import ConfigurationError
from .context_history import ContextPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PART_COLOURS", "plot_context"]

PART_COLOURS = {
    "system": "#4c566a",
    "tools": "#a3b1c6",
    "reference": "#8e6bbf",
    "summary": "#d9822b",
    "messages": "#3b82b8",
}
"""The parts of a request in their order, and the colour of each."""

_WINDOW, _WHOLE, _COMPACTION = "#c0392b", "#222222", "#d9822b"


def plot_context(
    histories: Sequence[ContextPoint] | Mapping[str, Sequence[ContextPoint]], *, title: str = ""
) -> Figure:
    """Draw the context by part over a thread's life, beside what it would be unmanaged.

    Args:
        histories: What `context_history` returned, or several of them by name: one panel each, on
            the same scale.
        title: A title for the figure.

    Returns:
        A Matplotlib figure, made without pyplot: a notebook shows it after `%matplotlib inline`,
        `savefig` writes it.

    Raises:
        ConfigurationError: Matplotlib is missing, or there is nothing to draw.
    """
    panels = dict(histories) if isinstance(histories, Mapping) else {"": histories}
    if not panels or not any(panels.values()):
        raise ConfigurationError("histories: nothing to draw; has the thread any messages?")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "plot_context needs matplotlib: python -m pip install 'longthread[notebooks]'"
        ) from error
    figure = Figure(figsize=(max(7.0, 4.6 * len(panels)), 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True).flatten()
    for axes, (name, points) in zip(row, panels.items(), strict=True):
        _draw(axes, points, name)
    row[0].set_ylabel("tokens")
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    if title:
        figure.suptitle(title)
    return figure


def _draw(axes: Axes, points: Sequence[ContextPoint], name: str) -> None:
    numbers = [point.journal_messages for point in points]
    axes.stackplot(
        numbers,
        [[point.parts[part] for point in points] for part in PART_COLOURS],
        labels=list(PART_COLOURS),
        colors=list(PART_COLOURS.values()),
        linewidth=0,
    )
    axes.plot(
        numbers,
        [point.whole for point in points],
        color=_WHOLE,
        linestyle="--",
        linewidth=1,
        label="everything",
    )
    axes.plot(
        numbers,
        [point.window for point in points],
        color=_WINDOW,
        linewidth=1,
        label="window",
    )
    done = 0
    for point in points:
        if point.generation > done:
            axes.axvline(point.journal_messages, color=_COMPACTION, linewidth=0.8, linestyle=":")
        done = point.generation
    axes.set_title(name, fontsize="medium")
    axes.set_xlabel("messages in the journal")
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
