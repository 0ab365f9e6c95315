"""A Matplotlib figure that a notebook shows as it is. Imported only where something is drawn."""

from __future__ import annotations

from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["ContextFigure"]


class ContextFigure(Figure):
    """A figure that needs no pyplot: not to be made, and not to be shown.

    Where `%matplotlib inline` was said, IPython shows any figure in its own way, and only once.

    Args:
        size: Width and height in inches.
    """

    def __init__(self, size: tuple[float, float]) -> None:
        super().__init__(figsize=size, layout="constrained")
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        written = BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()
