"""A LangGraph Server whose threads are kept where scripts and the command line find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, contents, say, thread
from langgraph_sdk import get_sync_client
from langgraph_server import ROOT, running_server

from longthread import ThreadJournal, close_thread, open_checkpointer


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_server_and_scripts_work_on_the_same_threads(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    config["checkpointer"] = {"path": "longthread.stores.server_checkpointer.checkpointer"}
    workspace = tmp_path / "workspace"
    settings = {"LONGTHREAD_CHECKPOINTER": url, "LONGTHREAD_WORKSPACE": str(workspace)}

    def ask(text: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}]}

    with running_server(tmp_path, config, **settings) as address:
        with get_sync_client(url=address) as server:
            served = server.threads.create()["thread_id"]
            server.runs.wait(served, "agent", input=ask("one"))
            answered: Any = server.runs.wait(served, "agent", input=ask("two"))
            assert len(answered["messages"]) == 4

            # A fork of it, on the server.
            history = server.threads.get_history(served, limit=100)
            values: list[Any] = [(s["values"], s) for s in history if not s["next"]]
            early: Any = next(s for v, s in values if len(v["messages"]) == 2)
            forked: Any = server.runs.wait(
                served, "agent", input=ask("instead"), checkpoint=early["checkpoint"]
            )
            said = [m["content"] for m in forked["messages"] if m["type"] == "human"]
            assert said == ["one", "instead"]

            # A script reads it, and goes on.
            with open_checkpointer(url, create=False) as saver:
                journal = ThreadJournal(saver, workspace, agent="studio")
                assert contents(journal.history(served))[::2] == ["one", "instead"]
                graph = agent(Scripted("from a script"), tmp_path, checkpointer=saver)
                graph.invoke(say("three"), thread(served))
            state: Any = server.threads.get_state(served)
            assert [m["content"] for m in state["values"]["messages"]][-1] == "from a script"
            server.runs.wait(served, "agent", input=ask("four"))

            # What a script has closed, the server refuses.
            with open_checkpointer(url, create=False) as saver:
                graph = agent(Scripted(), tmp_path, checkpointer=saver)
                assert close_thread(graph, thread(served))
            refused: Any = server.runs.wait(served, "agent", input=ask("five"), raise_error=False)
            assert refused["__error__"]["error"] == "LongthreadError"

            # And what the server deletes is gone.
            server.threads.delete(served)
        with open_checkpointer(url, create=False) as saver:
            graph = agent(Scripted(), tmp_path, checkpointer=saver)
            assert graph.get_state(thread(served)).created_at is None
