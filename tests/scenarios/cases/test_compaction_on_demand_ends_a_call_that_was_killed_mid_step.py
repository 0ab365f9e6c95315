"""`next == ()` with stored writes is not the end: the calls of the stored answer are never run."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langgraph.checkpoint.memory import InMemorySaver

from longthread import LongthreadError, compact_thread


class Dying(InMemorySaver):
    commits = 0
    fatal = 0

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self.commits += 1
        if self.commits == self.fatal:
            raise KeyboardInterrupt
        return super().put(*args, **kwargs)


def test_the_stored_calls_still_run_after_a_compaction_on_demand(tmp_path: Path) -> None:
    saver = Dying()
    script = Scripted("earlier", calls("a"), "the answer")
    graph = agent(script, tmp_path, checkpointer=saver, memory=None)
    graph.invoke(say("words " * 200), thread())
    saver.fatal = saver.commits + 4
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(say("go"), thread())
    assert contents(graph.get_state(thread()).values["messages"])[-2:] == ["go", ""]
    with pytest.raises(LongthreadError) as caught:
        compact_thread(graph, thread())
    assert caught.value.code == "SESSION_BUSY"
    result = graph.invoke(None, thread())
    assert contents(result["messages"])[-3:] == ["", "saw a", "the answer"]
