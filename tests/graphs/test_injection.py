"""How memory reaches the model: where it stands, how often it is read, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents import Scripted, agent, contents, say, thread
from langchain_core.messages import BaseMessage

from longthread import MemoryConfig, context_policy, project_context

OFF = MemoryConfig(hooks=False)


def remember(tmp_path: Path, text: str, *, shared: bool = False) -> Path:
    home = tmp_path / "workspace/users/_default"
    path = home / ("global" if shared else "agents/agent") / "MEMORY.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def system_of(request: list[BaseMessage]) -> str:
    assert [m.type for m in request].count("system") == 1
    assert request[0].type == "system"
    return str(request[0].content)


def test_the_shared_memory_comes_before_the_agents_own(tmp_path: Path) -> None:
    remember(tmp_path, "- Mine.\n")
    remember(tmp_path, "- Ours.\n", shared=True)
    script = Scripted("ok")
    agent(script, tmp_path).invoke(say("hi"), thread())
    reference = contents(script.requests[0])[0]
    assert reference.index("Ours.") < reference.index("Mine.")
    assert 'source="global/MEMORY.md"' in reference


def test_in_the_system_prompt_memory_follows_what_the_application_says(tmp_path: Path) -> None:
    remember(tmp_path, "- Kim likes tea.\n")
    script = Scripted("ok")
    memory = OFF.model_copy(update={"placement": "system"})
    graph = agent(script, tmp_path, memory=memory, system_prompt="Be kind.", reference=["A rule."])
    graph.invoke(say("hi"), thread())
    request = script.requests[0]
    assert system_of(request).startswith("Be kind.\n\n<HARNESS_CONTEXT>")
    assert "Kim likes tea." in system_of(request)
    assert "A rule." in str(request[1].content)
    assert "Kim likes tea." not in str(request[1].content)


def test_memory_is_the_system_prompt_where_there_is_no_other(tmp_path: Path) -> None:
    remember(tmp_path, "- Kim likes tea.\n")
    script = Scripted("ok")
    agent(script, tmp_path, memory=OFF.model_copy(update={"placement": "system"})).invoke(
        say("hi"), thread()
    )
    assert "Kim likes tea." in system_of(script.requests[0])
    assert [m.type for m in script.requests[0]] == ["system", "human"]


def test_memory_joins_a_system_prompt_that_is_a_function(tmp_path: Path) -> None:
    remember(tmp_path, "- Kim likes tea.\n")
    script = Scripted("ok")
    memory = OFF.model_copy(update={"placement": "system"})
    agent(script, tmp_path, memory=memory, system_prompt=lambda *_: "Be kind.").invoke(
        say("hi"), thread()
    )
    assert system_of(script.requests[0]).startswith("Be kind.\n\n<HARNESS_CONTEXT>")


def test_by_default_memory_is_read_with_every_call(tmp_path: Path) -> None:
    remember(tmp_path, "- One.\n")
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=OFF)
    graph.invoke(say("hi"), thread())
    remember(tmp_path, "- Two.\n")
    graph.invoke(say("hi"), thread())
    assert "Two." in contents(script.requests[1])[0]


@pytest.mark.parametrize("before", ["- One.\n", ""])
def test_a_session_keeps_the_memory_it_began_with(tmp_path: Path, before: str) -> None:
    remember(tmp_path, before)
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=OFF.model_copy(update={"refresh": "session"}))
    graph.invoke(say("hi"), thread("one"))
    remember(tmp_path, "- Two.\n")
    graph.invoke(say("hi"), thread("one"))
    graph.invoke(say("hi"), thread("two"))
    first, again, other = ("".join(contents(request)) for request in script.requests)
    assert ("One." in first) == ("One." in again) == bool(before)
    assert "Two." not in again
    assert "Two." in other


def test_further_material_is_read_again_in_a_session(tmp_path: Path) -> None:
    rules = tmp_path / "RULES.md"
    rules.write_text("Rule one.")
    script = Scripted("ok")
    memory = OFF.model_copy(update={"refresh": "session"})
    graph = agent(script, tmp_path, memory=memory, reference=[rules])
    graph.invoke(say("hi"), thread())
    rules.write_text("Rule two.")
    graph.invoke(say("hi"), thread())
    assert "Rule two." in contents(script.requests[1])[0]


def test_memory_that_is_written_by_nobody_is_not_shown(tmp_path: Path) -> None:
    remember(tmp_path, "- Kim likes tea.\n")
    script = Scripted("ok")
    memory = MemoryConfig(hooks=False, tools=False)
    agent(script, tmp_path, memory=memory, reference=["A rule."]).invoke(say("hi"), thread())
    reference = contents(script.requests[0])[0]
    assert "A rule." in reference
    assert "Kim likes tea." not in reference


def test_one_entry_that_is_longer_than_the_budget_is_cut_short_not_left_out(
    tmp_path: Path,
) -> None:
    remember(tmp_path, "- Old.\n- The newest " + "word " * 40_000 + "end.\n")
    script = Scripted("ok")
    memory = OFF.model_copy(update={"max_reference_tokens": 300})
    graph = agent(script, tmp_path, memory=memory)
    graph.invoke(say("hi"), thread())
    reference = contents(script.requests[0])[0]
    assert "The newest word" in reference
    assert "Old." not in reference
    assert "MEMORY truncated" in reference
    assert len(reference) < 4_000


def test_memory_never_takes_more_than_a_quarter_of_the_window(tmp_path: Path) -> None:
    remember(tmp_path, "".join(f"- Fact number {n} is a fact.\n" for n in range(2_000)))
    script = Scripted("ok")
    agent(script, tmp_path, memory=OFF, context_window=4_000).invoke(say("hi"), thread())
    assert "Fact number 1999" in contents(script.requests[0])[0]


def test_both_scopes_keep_their_newest_entry(tmp_path: Path) -> None:
    for shared, name in ((False, "mine"), (True, "ours")):
        text = "".join(f"- Fact {n} of {name}.\n" for n in range(2_000))
        remember(tmp_path, text, shared=shared)
    script = Scripted("ok")
    memory = OFF.model_copy(update={"max_reference_tokens": 1_000})
    agent(script, tmp_path, memory=memory).invoke(say("hi"), thread())
    reference = contents(script.requests[0])[0]
    assert "Fact 1999 of mine." in reference
    assert "Fact 1999 of ours." in reference
    assert reference.count("MEMORY truncated") == 2


def test_a_resumed_call_projects_what_it_began_with(tmp_path: Path) -> None:
    remember(tmp_path, "- One.\n")
    script = Scripted(RuntimeError("provider down"), "ok")
    graph = agent(script, tmp_path, memory=OFF)
    with pytest.raises(RuntimeError, match="provider down"):
        graph.invoke(say("hi"), thread())
    before = project_context(graph.get_state(thread()).values, context_policy(graph))
    remember(tmp_path, "- Two.\n")
    graph.invoke(None, thread())
    assert [m.content for m in script.requests[1]] == [m.content for m in before]
