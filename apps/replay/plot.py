"""The context over a session as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...state.errors import ConfigurationError
from ..context_plot import LABELS, PART_COLOURS, plain_axes
from .measures import Replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_plot", "context_figure", "draw_context", "write_plot"]

_COLUMNS = 3


def check_plot(path: Path) -> None:
    """Find out before anything is played whether a plot can be written.

    Args:
        path: Where it is to go; its ending chooses the format.

    Raises:
        ConfigurationError: Matplotlib is missing, or the path cannot be used.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ConfigurationError(
            "--plot needs matplotlib: python -m pip install 'longthread[notebooks]'"
        ) from error
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in known:
        raise ConfigurationError(
            f"--plot={str(path)!r}: the ending says the format; use one of "
            f"{', '.join(sorted(known))}"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigurationError(f"--plot={str(path)!r}: name a file in a folder that exists")


def write_plot(replays: Sequence[Replay], path: Path) -> None:
    """Draw the sessions, one panel each, and write the picture.

    Raises:
        OSError: The file cannot be written.
    """
    context_figure(replays).savefig(path, dpi=120)


def context_figure(replays: Sequence[Replay]) -> Figure:
    """Return a figure with one panel for each session.

    It is made without pyplot, so it needs no display and leaves no global state behind.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(replays))
    rows = -(-len(replays) // columns)
    figure = Figure(figsize=(max(6.5, 5 * columns), 3.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel, replay in zip(panels, replays, strict=False):
        draw_context(panel, replay)
    for panel in panels[len(replays) :]:
        panel.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure


def draw_context(axes: Axes, replay: Replay) -> None:
    """Draw one session: the context by part over its requests, the window, the unmanaged total."""
    numbers = list(range(1, len(replay.requests) + 1))
    axes.stackplot(
        numbers,
        [[request.parts[part] for request in replay.requests] for part in PART_COLOURS],
        labels=[LABELS[part] for part in PART_COLOURS],
        colors=list(PART_COLOURS.values()),
        linewidth=0,
    )
    unmanaged = [request.unmanaged.tokens for request in replay.requests]
    axes.plot(numbers, unmanaged, color="#222222", linestyle="--", linewidth=1, label="unmanaged")
    axes.axhline(replay.window, color="#c0392b", linewidth=1, label="window")
    axes.set_title(replay.session.path.name, fontsize="medium")
    axes.set_xlabel("request")
    axes.set_ylabel("tokens")
    plain_axes(axes)
