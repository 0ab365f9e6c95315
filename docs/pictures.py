"""The pictures of README and docs, made by the code: `python docs/pictures.py` writes them anew.

The graph is drawn between two markers in README.md and docs/concepts.md; a test compares both with
the code. The images are of the demo's session, in docs/images.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_core.runnables.graph import Edge
from rich.console import Console

from longthread import context_history, create_agent_graph, plot_context
from longthread.apps.demo.first_process import FirstProcess
from longthread.apps.demo.live_view import frame
from longthread.apps.demo.performance import THREAD, perform
from longthread.apps.demo.places import Places
from longthread.apps.demo.project import build_project
from longthread.apps.demo.session import Event, open_session
from longthread.apps.demo.story import Line, line_of
from longthread.apps.demo.tally import Tally
from longthread.graphs.scripted import ScriptedModel
from longthread.graphs.triggers import SEAL

__all__ = ["PAGES", "draw_demo", "draw_folded", "drawn_page", "table_of_edges"]

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "<!-- drawn by docs/pictures.py -->"
END = "<!-- end of the drawing -->"
DUE = "due"
_NAMES = {"__start__": "START", "__end__": "END"}
_SHOWN_AT = 92  # messages in the journal: the second process works, old results are masked
_LINES = 8


def draw_folded() -> str:
    """Draw the graph with its cascade of questions as one rhombus.

    Whatever a node may find due next is the same list, of which later nodes ask only the later
    questions. Drawn edge by edge these would be forty arrows; a node with more than one of them
    gets one arrow to the rhombus, and the rhombus the arrows to what is due.
    """
    edges = _edges()
    cascade = {(str(label), target) for label, target in SEAL.items()}
    in_cascade = Counter(e.source for e in edges if (str(e.data), e.target) in cascade)
    folded = {source for source, count in in_cascade.items() if count > 1}
    left = [e for e in edges if not (e.source in folded and (str(e.data), e.target) in cascade)]
    back = {target for _, target in cascade} & folded - {edge.source for edge in left}
    lines = ["flowchart LR", f"    {DUE}{{{{due?}}}}"]
    for label, target in sorted(SEAL.items(), key=lambda item: _place(item[1])):
        arrow = _arrow(DUE, str(label), target)
        lines.append(arrow.replace("-.", "<-.", 1) if target in back else arrow)
    lines += [_arrow(source, "", DUE) for source in sorted(folded - back, key=_place)]
    for edge in sorted(left, key=lambda e: (_place(e.source), _place(e.target))):
        lines.append(_arrow(edge.source, str(edge.data or ""), edge.target))
    return "\n".join(["```mermaid", *lines, *_style(edges), "```"])


def table_of_edges() -> str:
    """Return every edge of the graph as a table, node by node."""
    asked: dict[str, list[Edge]] = defaultdict(list)
    for edge in _edges():
        asked[edge.source].append(edge)
    rows = ["| after | comes |", "|---|---|"]
    for source in sorted(asked, key=_place):
        ways = sorted(asked[source], key=lambda edge: _place(edge.target))
        said = "; ".join(
            f"*{edge.data}* → {_node(edge.target)}" if edge.data else _node(edge.target)
            for edge in ways
        )
        rows.append(f"| {_node(source)} | {said} |")
    return "\n".join(rows)


def drawn_page(page: str) -> str:
    """Return a page as it has to be: with what is drawn between its markers.

    Raises:
        ValueError: The page has no markers.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    block = f"{BEGIN}\n{PAGES[page]()}\n{END}"
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page} has no {BEGIN!r} … {END!r}")
    return pattern.sub(lambda _: block, text)


def draw_demo(folder: Path, images: Path) -> None:
    """Play the demo, and draw what a terminal shows in its middle and the context of its thread.

    Args:
        folder: Where the demo writes; new or empty.
        images: Where the pictures go.
    """
    places, tally = Places(folder), Tally(THREAD)
    lines: list[Line] = []
    shown: list[str] = []

    numbers: dict[str, str] = {}  # of processes: the real ones are others each time

    def number(real: object) -> str:
        return numbers.setdefault(str(real), str(4711 + len(numbers)))

    def emit(event: Event) -> None:
        tally.add({**event, **({"pid": number(event["pid"])} if "pid" in event else {})})
        if (line := line_of(event)) is not None:
            said = re.sub(r"(?<=process )\d+", lambda match: number(match[0]), line.text)
            lines.append(line._replace(text=said))
        if not shown and tally.context.get("journal", 0) >= _SHOWN_AT:
            shown.append(_screen(tally, lines[-_LINES:]))

    folder.mkdir(parents=True, exist_ok=True)
    with FirstProcess(places) as first:
        perform(places, build_project(places.project, seed=7), first, emit)
    images.mkdir(parents=True, exist_ok=True)
    (images / "demo.svg").write_text(shown[0], encoding="utf-8")
    with open_session(places, lambda _: None) as session:
        thread: Any = {"configurable": {"thread_id": THREAD}}
        figure = plot_context(context_history(session.graph, thread, limit=500))
    figure.savefig(images / "context.png", dpi=110)


def _screen(tally: Tally, lines: list[Line]) -> str:
    with open("/dev/null", "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=100, file=nowhere, force_terminal=True)
        console.print(frame(tally, lines))
        svg = console.export_svg(title="longthread demo", unique_id="demo")
    # Nothing is fetched from elsewhere: the reader's own monospaced font will do.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def _edges() -> list[Edge]:
    model = ScriptedModel(script=lambda _: "")
    with tempfile.TemporaryDirectory() as folder:
        return list(create_agent_graph(model, workspace=folder).get_graph().edges)


def _node(name: str) -> str:
    return _NAMES.get(name, f"`{name}`")


def _place(name: str) -> int:
    order = ("__start__", "recall", *SEAL.values(), "tools", "overflow_retry", "consolidation")
    return order.index(name) if name in order else len(order)  # END


def _arrow(source: str, label: str, target: str) -> str:
    source, target = _NAMES.get(source, source), _NAMES.get(target, target)
    return f'    {source} -. "{label}" .-> {target}' if label else f"    {source} --> {target}"


def _style(edges: Iterable[Edge]) -> list[str]:
    names = {name for edge in edges for name in (edge.source, edge.target)}
    ends = ",".join(sorted(_NAMES[name] for name in names if name in _NAMES))
    return [
        "    classDef ends fill:none,stroke:none",
        f"    class {ends} ends",
        "    classDef main stroke-width:3px",
        "    class reasoning,tools main",
    ]


PAGES = {"README.md": draw_folded, "docs/concepts.md": table_of_edges}
"""What is drawn on which page."""


def main() -> None:
    """Write all of them anew."""
    for page in PAGES:
        (ROOT / page).write_text(drawn_page(page), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        draw_demo(Path(folder), ROOT / "docs/images")


if __name__ == "__main__":
    main()
