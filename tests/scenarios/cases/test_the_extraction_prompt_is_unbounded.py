"""MEMORY.md and the day's ledger go whole into every extraction, whatever the window."""

from datetime import UTC, datetime
from pathlib import Path

from agents import Scripted, agent, say, thread

from longthread.state.counting import count_message


def test_an_extraction_fits_the_window_beside_a_long_ledger(tmp_path: Path) -> None:
    home = tmp_path / "workspace/users/_default/agents/agent"
    (home / "memory").mkdir(parents=True)
    ledger = home / "memory" / f"{datetime.now(UTC):%Y-%m-%d}.md"
    ledger.write_text("- A fact about something.\n" * 10_000)
    (home / "MEMORY.md").write_text("- Known.\n")
    script = Scripted("ok")
    agent(script, tmp_path, [], context_window=16_000).invoke(say("I like tea"), thread())
    sizes = [sum(map(count_message, request)) for request in script.asked["facts"]]
    assert max(sizes) <= 16_000


def test_a_consolidation_fits_the_window_beside_a_long_memory(tmp_path: Path) -> None:
    home = tmp_path / "workspace/users/_default/agents/agent"
    home.mkdir(parents=True)
    (home / "MEMORY.md").write_text("".join(f"- Fact {n} of many.\n" for n in range(10_000)))
    script = Scripted("ok", facts="- New.")
    agent(script, tmp_path, [], context_window=16_000).invoke(say("I like tea"), thread())
    for kind in ("facts", "memory"):
        sizes = [sum(map(count_message, request)) for request in script.asked[kind]]
        assert max(sizes, default=0) <= 16_000, kind
