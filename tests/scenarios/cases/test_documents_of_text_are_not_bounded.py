"""Their cost is counted now, but they are "media": never evicted, never in a transcript."""

from pathlib import Path
from typing import Any

from agents import Scripted, agent, say, thread
from langchain_core.messages import HumanMessage

from longthread.state.counting import count_message

WORDS = "needle " + "word " * 40_000


def test_a_text_document_over_the_window_is_evicted_like_a_paste(tmp_path: Path) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": WORDS}
    asked: list[Any] = [{"type": "document", "source": source}, {"type": "text", "text": "so?"}]
    script = Scripted("ok")
    graph = agent(script, tmp_path, [], context_window=16_000, memory=None)
    graph.invoke({"messages": [HumanMessage(asked)]}, thread())
    assert sum(map(count_message, script.requests[0])) < 16_000
    graph.invoke(say("more"), thread())


def test_a_text_document_is_in_what_the_summariser_reads() -> None:
    from longthread.state.transcript import transcript

    source = {"type": "text", "media_type": "text/plain", "data": "needle"}
    assert "needle" in transcript(HumanMessage([{"type": "document", "source": source}]))
