"""`text_of` sees only text blocks; eviction, masking, summariser and extraction believe it."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import HumanMessage, ToolMessage

from longthread import MaskingConfig
from longthread.state.counting import count_message, count_text

WORDS = "needle " + "word " * 40_000
BLOCKS: dict[str, dict[str, Any]] = {
    "json": {"type": "json", "json": {"rows": WORDS}},
    "search_result": {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": WORDS}],
    },
}


@pytest.mark.parametrize("kind", BLOCKS)
def test_an_evicted_block_can_be_read_back(kind: str, tmp_path: Path) -> None:
    def rows(at: str) -> list[dict[str, Any]]:
        """Return rows, as content blocks that LangGraph's tool node keeps."""
        return [BLOCKS[kind]]

    script = Scripted(calls("a", name="rows"), "done")
    graph = agent(script, tmp_path, [rows], memory=None)
    graph.invoke(say("go"), thread())
    shown = str(script.requests[-1][-1].content)
    files = [f.read_text() for f in (tmp_path / "workspace").rglob("a-*.txt")]
    assert "needle" in shown or any("needle" in text for text in files)


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_are_masked_and_summarised_like_text(kind: str, tmp_path: Path) -> None:
    block = {**BLOCKS[kind]}
    short = "needle " + "word " * 300
    block |= (
        {"json": {"rows": short}}
        if kind == "json"
        else {"content": [{"type": "text", "text": short}]}
    )

    def rows(at: str) -> list[dict[str, Any]]:
        """Return rows."""
        return [block]

    script = Scripted(*(calls(f"c{i}", name="rows") for i in range(40)), "done")
    masking = MaskingConfig(turns=2, batch=1)
    graph = agent(script, tmp_path, [rows], memory=None, masking=masking, context_window=8_000)
    graph.invoke(say("go"), thread())
    early = next(m for m in script.requests[6] if isinstance(m, ToolMessage))
    assert early.content == masking.placeholder
    assert all("needle" in str(asked[-1].content) for asked in script.asked["summary"])


def test_a_document_that_is_text_costs_what_its_text_costs() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": WORDS}
    message = HumanMessage([{"type": "document", "source": source}])
    assert count_message(message) >= count_text(WORDS)
