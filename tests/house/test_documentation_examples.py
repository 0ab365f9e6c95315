"""What README and docs show works: every example is run as it stands there, to its last function.

Only models are scripted. A page whose examples need more than that has a function below that calls
what it defines; a function that nobody calls, and code that is marked as none, fail.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from agents import Scripted, calls, say, thread
from documents import Block, Examples, blocks_of, pages
from langchain_core.messages import AIMessage
from langgraph.types import Command
from starlette.testclient import TestClient

import longthread.graphs.agent as graphs_agent
from longthread import close_thread, drain, open_checkpointer
from longthread.graphs.models import resolve_model

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages(ROOT)
SHELLS = {"bash", "console"}
KNOWN = {"python", "json", "yaml", "text", "mermaid", *SHELLS}
_MONEY = {"account": "ann", "amount": 3}
Names = dict[str, Any]


class Given(NamedTuple):
    """What a check is given besides the names of its page.

    Attributes:
        printed: What has been printed since the last look.
        postgres: The address of an empty database, when it is asked for.
    """

    printed: Callable[[], str]
    postgres: Callable[[], str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """What models that are named by a text say; the tests run in an empty folder."""
    made = Scripted(summary="S", facts="- A fact about Oslo.")

    def resolved(model: Any, **options: Any) -> Any:
        return made.model if isinstance(model, str) else resolve_model(model, **options)

    monkeypatch.setattr(graphs_agent, "resolve_model", resolved)
    monkeypatch.chdir(tmp_path)
    yield made
    drain()


def readme(names: Names, script: Scripted, given: Given) -> None:
    """Call what the README defines."""
    assert [len(request) for request in script.requests] == [2, 4]
    assert "Sunny.\nI was sent" in given.printed()
    assert Path("threads.db").is_file()
    with names["open_checkpointer"]("sqlite:///threads.db") as saver:
        graph = graphs_agent.create_agent_graph(script.model, workspace="w", checkpointer=saver)
        names["show_context"](graph, thread("1"))
        assert "It is sunny in Oslo." in given.printed()
        assert names["go_on"](graph, thread("1")) == "Nothing was left to do."
        script.answers = [ConnectionError("down"), "Here I am."]
        with pytest.raises(ConnectionError):
            graph.invoke(say("a longer question " * 50), thread("1"))
        assert names["go_on"](graph, thread("1")) == "Here I am."
        names["picture"](graph, thread("1"), "context.png")
        names["tidy"](graph, thread("1"))
        assert "messages summarised" in given.printed()
        drain()
    assert Path("context.png").stat().st_size > 5_000
    assert "A fact" in next(Path("workspace").rglob("memory/*.md")).read_text("utf-8")


def composing(names: Names, script: Scripted, given: Given) -> None:
    """Look at what the page has printed."""
    printed = given.printed().splitlines()
    assert printed[0] == (
        "[(None, 'Hello!'), ('helper', 'I was sent 1 messages.'), "
        "(None, 'And again.'), ('helper', 'I was sent 3 messages.')]"
    )
    assert printed[1] == "4"
    assert "('helper',) ['reasoning']" in printed
    assert "writer" in printed
    assert "support says: I was sent 3 messages." in printed
    assert "['I was sent 1 messages.', 'I was sent 1 messages.']" in printed
    assert printed[printed.index("Pay 3?") + 1] == "It was paid."
    assert "('tools',) {'amount': 3}" in printed
    assert "Pay 2?" in printed
    assert "reasoning: " in " ".join(printed)
    assert "approved=True" in printed
    filled = dict.fromkeys(("finder", "writer"), "I was sent 1 messages.")
    assert str({"goal": "What do otters eat?", **filled}) in printed
    assert len(names["parent"].get_state(names["thread"]).values["messages"]) == 8


def errors(names: Names, script: Scripted, given: Given) -> None:
    """Ask a thread that is free, one that is busy and one that is closed."""
    with open_checkpointer("sqlite:///threads.db") as saver:
        graph = graphs_agent.create_agent_graph(script.model, memory=None, checkpointer=saver)
        assert names["ask"](graph, "Hi.", thread()) == "done"
        stream = graph.stream(say("go"), thread())
        next(stream)
        assert names["ask"](graph, "Hi.", thread()).startswith("One moment")
        list(stream)
        close_thread(graph, thread())
        assert "ended" in names["ask"](graph, "Hi.", thread())


def http(names: Names, script: Scripted, given: Given) -> None:
    """Serve a thread of the application that stands alone."""
    names["agent"].invoke(say("Hello!"), thread("1"))
    client = TestClient(names["app"])
    asked = client.post("/sessions/1/compact", json={"dryRun": True})
    assert asked.json()["session"]["messageCount"] == 2
    drain()
    names["stack"].close()


def memory(names: Names, script: Scripted, given: Given) -> None:
    """Maintain on demand, and redact."""
    graph = graphs_agent.create_agent_graph(script.model, workspace="w", memory=names["inline"])
    graph.invoke(say("I live in Oslo."), context={"user_id": "ann"})
    names["tidy"](graph)
    assert given.printed() == "() ()\n"  # the call has done it already
    hidden = names["redact"]("Project Heron has the key sk-proj-0123456789abcdefghij0123")
    assert "Heron" not in hidden
    assert "0123456789" not in hidden


def migrating(names: Names, script: Scripted, given: Given) -> None:
    """See that nothing was lost on the way."""
    printed = given.printed().splitlines()
    assert printed[0] == "4 messages, and I was sent 3 messages."
    assert printed[1] == "I have it from the researcher: I was sent 1 messages."
    memory = Path("workspace/users/ann/agents/agent/MEMORY.md")
    assert memory.read_text("utf-8") == "- Ann drinks tea.\n"
    nested = names["boss"].get_state(thread("3")).values["messages"]
    assert [m.type for m in nested] == ["human", "ai", "tool", "ai"]


def scaling(names: Names, script: Scripted, given: Given) -> None:
    """Run a worker on PostgreSQL, and another one after it."""
    address = given.postgres()
    for said in ("one", "two"):
        with names["agent_on"](address, "openai:gpt-5-mini") as graph:
            result = graph.invoke(say(said), thread())
    assert [m.content for m in result["messages"]] == ["one", "done", "two", "done"]
    assert "A fact" in str(script.requests[-1][0].content)


def security(names: Names, script: Scripted, given: Given) -> None:
    """Ask before money goes, and ask who is there."""
    script.answers = [
        AIMessage("", tool_calls=[{"name": "transfer", "args": _MONEY, "id": str(n)}])
        if n % 2 == 0
        else "Well."
        for n in range(4)
    ]
    with open_checkpointer("memory://") as saver:
        graph = graphs_agent.create_agent_graph(
            script.model, [names["transfer"]], memory=None, checkpointer=saver
        )
        for answer, result in (("no", "The user has declined."), ("yes", "Transferred 3 to ann.")):
            assert graph.invoke(say("pay"), thread())["__interrupt__"][0].value == _MONEY
            done = graph.invoke(Command(resume=answer), thread())
            assert done["messages"][-2].content == result
    assert asyncio.run(names["authenticate"]("Bearer token-of-ann")) == "ann"
    with pytest.raises(names["Auth"].exceptions.HTTPException):
        asyncio.run(names["authenticate"](None))
    asked = SimpleNamespace(user=SimpleNamespace(identity="ann"), action="create")
    value: dict[str, Any] = {}
    assert asyncio.run(names["own_threads"](asked, value)) == value["metadata"] == {"owner": "ann"}


def settings(names: Names, script: Scripted, given: Given) -> None:
    """Make an agent from files."""
    provider = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none"}
    written = {"models": {"main": "qwen3"}, "providers": {"local": provider}}
    Path("settings.json").write_text(json.dumps(written), "utf-8")
    assert names["agent_from"](".").get_name() == "agent"


def threads(names: Names, script: Scripted, given: Given) -> None:
    """Look back on what Ann has said."""
    with open_checkpointer("memory://") as saver:
        graph = graphs_agent.create_agent_graph(
            script.model, workspace="workspace", memory=None, checkpointer=saver
        )
        graph.invoke(say("I live in Oslo."), thread(), context={"user_id": "ann"})
        names["look_back"](saver)
    assert "I live in Oslo." in given.printed()


CHECKS: dict[str, Callable[[Names, Scripted, Given], None]] = {
    "README.md": readme,
    "docs/http.md": http,
    "docs/composing.md": composing,
    "docs/errors.md": errors,
    "docs/memory.md": memory,
    "docs/migrating.md": migrating,
    "docs/scaling.md": scaling,
    "docs/security.md": security,
    "docs/settings.md": settings,
    "docs/threads.md": threads,
}


@pytest.mark.parametrize("page", PAGES)
def test_every_example_runs(
    page: str,
    script: Scripted,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    if page == "README.md":
        script.answers = [calls("1", name="weather"), "Sunny."]
        script.answers[0].tool_calls[0]["args"] = {"city": "Oslo"}  # type: ignore[union-attr]
    examples = Examples(ROOT / page)
    examples.run()
    given = Given(
        lambda: capsys.readouterr().out, lambda: str(request.getfixturevalue("postgres_url"))
    )
    if page in CHECKS:
        CHECKS[page](examples.names, script, given)
    assert examples.never_called() == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is_and_is_that(page: str) -> None:
    found = blocks_of(ROOT / page)
    assert {block.language for block in found} <= KNOWN
    fences = [line for line in (ROOT / page).read_text("utf-8").splitlines() if "```" in line]
    assert len(fences) == 2 * len(found), "a fence that is not seen here"
    for block in found:
        if block.language == "json":
            json.loads(block.text)
        if block.language == "yaml":
            assert importlib.import_module("yaml").safe_load(block.text)


def commands(shell: str) -> list[list[str]]:
    """The calls of `longthread` in a shell block, each as its words."""
    found = []
    for line in shell.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while "longthread" in words:
            words = words[words.index("longthread") :]
            end = next((n for n, w in enumerate(words) if w in {"&&", "||", "|", ";", ">"}), None)
            found.append(words[:end])
            words = [] if end is None else words[end:]
    return found


def test_a_function_that_nobody_calls_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    source = 'def used():\n    """Say so."""\n    return used.__doc__\n\n\ndef unused(): ...\n'
    page.write_text(f"```python\n{source}```\n```python\nlambda: 1\nassert used()\n```\n", "utf-8")
    examples = Examples(page)
    examples.run()
    assert examples.never_called() == ["lambda, line 10", "unused, line 7"]


def test_commands_are_found_in_a_shell_block() -> None:
    shell = (
        "pip install -e . && longthread demo  # longthread ends here\n"
        '$ longthread chat \\\n  --thread "a b" | tee longthread.txt\n'
    )
    assert commands(shell) == [["longthread", "demo"], ["longthread", "chat", "--thread", "a b"]]


def shown_in(blocks: list[Block]) -> list[list[str]]:
    return [each for b in blocks if b.language in SHELLS for each in commands(b.text)]


@pytest.mark.parametrize("page", [page for page in PAGES if shown_in(blocks_of(ROOT / page))])
def test_every_command_that_is_shown_exists(
    page: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (entry_point,) = entry_points(group="console_scripts", name="longthread")
    main = entry_point.load()
    monkeypatch.chdir(tmp_path)
    for command in shown_in(blocks_of(ROOT / page)):
        monkeypatch.setattr("sys.argv", [*command, "--help"])
        with pytest.raises(SystemExit) as done:
            main()
        assert done.value.code in (0, None), f"{shlex.join(command)}: {capsys.readouterr().err}"
