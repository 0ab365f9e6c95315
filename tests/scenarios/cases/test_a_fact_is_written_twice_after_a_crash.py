from pathlib import Path

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import BaseMessage

from longthread.stores.local.scope import LocalScope


def test_a_crash_between_ledger_and_cursor_writes_no_fact_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marker has the whole range; with one more message the range is another one."""

    def facts(messages: list[BaseMessage]) -> str:
        new = str(messages[-1].content).split("<conversation>")[1]
        return "- Kim likes tea." if "tea" in new else "NO_REPLY"

    graph = agent(Scripted("ok", facts=facts), tmp_path)
    with monkeypatch.context() as patch:
        update = LocalScope.update_json

        def dying(self: LocalScope, name: str, transform: object) -> object:
            if name.startswith("flush/"):
                raise KeyboardInterrupt
            return update(self, name, transform)  # type: ignore[arg-type]

        patch.setattr(LocalScope, "update_json", dying)
        with pytest.raises(KeyboardInterrupt):
            graph.invoke(say("I am Kim, I like tea"), thread())
    graph.invoke(say("and more"), thread())
    [ledger] = (tmp_path / "workspace").rglob("memory/*.md")
    assert ledger.read_text().count("- Kim likes tea.") == 1
