"""What begins with a slash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ...graphs.agent import context_policy
from ...graphs.fork import afork_thread
from ...graphs.manual_compaction import acompact_thread
from ...graphs.sessions import session_of, status_of
from ...nodes.identity import utc_now
from ...state.projection import view_context
from ...state.text import visible
from ...stores.memory.ledger import ledger_path, without_markers
from .session import Session, new_thread_id

__all__ = ["COMMANDS", "run_command"]

_WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Command:
    run: Callable[[Session, str], None]
    usage: str
    does: str


def run_command(session: Session, text: str) -> None:
    """Run a command.

    Args:
        session: The chat.
        text: The line, with its slash.
    """
    name, _, rest = text.partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        session.screen.error(f"{visible(name)}: there is no such command; /help lists them")
        return
    command.run(session, rest.strip())


def _compact(session: Session, instructions: str) -> None:
    result = session.run(acompact_thread(session.graph, session.config, instructions or None))
    if result.already_up_to_date:
        session.screen.note(f"nothing to compact, {result.new_size} messages are summarised")
    else:
        session.screen.note(
            f"{result.compacted_count} messages summarised, {result.new_size} in all"
        )


def _memory(session: Session, _: str) -> None:
    if not session.drained(_WAIT_SECONDS):
        session.screen.note("memory of the last turns is still being written")
    files = session.files
    today = ledger_path(utc_now())
    titles = {"global/MEMORY.md": "MEMORY.md, shared", "MEMORY.md": "MEMORY.md", today: today}
    shown = False
    for path, title in titles.items():
        text = files.read_text(path)
        if text and text.strip():
            shown = True
            session.screen.show(Text(title, "bold"))
            session.screen.show(Text(visible(without_markers(text).strip(), keep="\n") + "\n"))
    if not shown:
        session.screen.note("nothing is remembered yet")


def _search(session: Session, query: str) -> None:
    if not query:
        session.screen.error("/search: say what to look for")
        return
    hits = session.run(session.journal.asearch(query))
    for hit in hits:
        place = "" if hit.thread_id == session.thread else f"{hit.thread_id} "
        line = Text(visible(f"{place}#{hit.position} {hit.role}: "), "bold")
        session.screen.show(line.append(visible(" ".join(hit.excerpt.split())), "not bold"))
    if not hits:
        session.screen.note("no matches")


def _context(session: Session, _: str) -> None:
    state, policy = session.state(), context_policy(session.graph)
    view = view_context(state.values or {}, policy)
    at_a_glance = session_of(
        session.thread, state.values or {}, status_of(state), policy, agent=session.owner.agent
    )
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("part")
    table.add_column("tokens", justify="right")
    table.add_column("of the window", justify="right")
    for part, tokens in view.parts.items():
        table.add_row(part, f"{tokens:,}", f"{tokens / view.window:.1%}")
    table.add_row("together", f"{view.estimated:,}", f"{view.estimated / view.window:.1%}")
    session.screen.show(table)
    notes = [
        f"{at_a_glance['message_count']} messages were said, {len(view.messages)} are sent",
        f"the window takes {view.window:,} tokens",
    ]
    if view.decisions.size:
        notes.append(f"the summary stands for {view.decisions.size} messages")
    for what, tokens in (("masks", view.body.masked), ("evictions", view.body.evicted)):
        if tokens:
            notes.append(f"{what} keep {tokens:,} tokens out")
    session.screen.show(Text("; ".join(notes)))


def _threads(session: Session, _: str) -> None:
    found = session.run(session.journal.athreads())
    if not found:
        session.screen.note("there are no threads yet")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("thread", "messages", "last used", "begins with"):
        table.add_column(heading, overflow="fold")
    for info in found:
        mark = " *" if info.thread_id == session.thread else ""
        when = info.updated.astimezone().strftime("%Y-%m-%d %H:%M") if info.updated else ""
        cells = (f"{info.thread_id}{mark}", str(info.messages), when, info.first_words)
        table.add_row(*(escape(visible(cell)) for cell in cells))
    session.screen.show(table)


def _thread(session: Session, thread: str) -> None:
    if thread:
        session.move(thread)
    session.screen.note(f"thread {session.thread}")
    if session.unfinished(session.state()):
        session.screen.note("an empty line or /resume goes on with its last turn")


def _new(session: Session, thread: str) -> None:
    if thread and session.state(thread).created_at is not None:
        session.screen.error(f"there is a thread {visible(thread)} already: /thread goes there")
        return
    session.move(thread or new_thread_id())
    session.screen.note(f"thread {session.thread}")


def _fork(session: Session, thread: str) -> None:
    session.drained(_WAIT_SECONDS)  # what is being remembered is remembered once
    old, new = session.thread, thread or new_thread_id()
    session.run(afork_thread(session.graph, session.config, new))
    session.move(new)
    session.screen.note(f"thread {new}, which has all of {old}; that stays as it is")


def _resume(session: Session, _: str) -> None:
    session.resume()


def _quit(session: Session, _: str) -> None:
    session.over = True


def _help(session: Session, _: str) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for command in dict.fromkeys(COMMANDS.values()):
        table.add_row(escape(command.usage), escape(command.does))
    session.screen.show(table)
    session.screen.show(Text("Ctrl-C interrupts a turn, an empty line goes on with it."))


COMMANDS: dict[str, _Command] = {
    "/compact": _Command(
        _compact, "/compact [INSTRUCTIONS]", "summarise the next part, from the beginning"
    ),
    "/memory": _Command(_memory, "/memory", "show what is remembered"),
    "/search": _Command(_search, "/search QUERY", "find messages in all of your threads"),
    "/context": _Command(_context, "/context", "show what the model is sent now, by part"),
    "/threads": _Command(_threads, "/threads", "list your threads"),
    "/thread": _Command(_thread, "/thread ID", "go to another thread"),
    "/new": _Command(_new, "/new [ID]", "begin a new thread"),
    "/fork": _Command(_fork, "/fork [ID]", "copy this thread into a new one, and go on there"),
    "/resume": _Command(_resume, "/resume", "go on with an interrupted turn"),
    "/help": _Command(_help, "/help", "list the commands"),
    "/quit": _Command(_quit, "/quit", "end the chat"),
}
"""The commands by name."""
COMMANDS["/exit"] = COMMANDS["/quit"]
