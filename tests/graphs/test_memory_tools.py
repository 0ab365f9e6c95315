"""The memory tools as a model meets them: which there are, what they answer, for whom."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage

from longthread import LocalWorkspace, MemoryConfig, ThreadContext, context_policy
from longthread import create_agent_graph as create
from longthread.graphs.compiled import AgentGraph
from longthread.nodes.tools import memory_save
from longthread.state.counting import count_schemas, count_text
from longthread.state.errors import ConfigurationError
from longthread.stores.workspace import Owner, ScopedWorkspace

NOW = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
MEMORY_TOOLS = ["memory_search", "memory_get", "memory_read", "memory_save"]
THREAD_TOOLS = ["thread_search", "thread_history"]


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_save, "now", lambda _run: NOW)


def files(tmp_path: Path, user: str | None = None, name: str = "agent") -> ScopedWorkspace:
    return LocalWorkspace(tmp_path / "workspace").scoped(Owner(user, name))


def names(graph: AgentGraph) -> list[str]:
    return [tool["function"]["name"] for tool in context_policy(graph).tools]


def used(tmp_path: Path, *calls: tuple[str, dict[str, Any]], **options: Any) -> list[ToolMessage]:
    """Let an agent make the calls, one after the other, and return their results."""
    context = options.pop("context", None)
    steps = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{number}"}])
        for number, (name, args) in enumerate(calls)
    ]
    options.setdefault("memory", MemoryConfig(hooks=False))
    graph = agent(Scripted(*steps, "done"), tmp_path, options.pop("tools", []), **options)
    result = graph.invoke(say("go"), thread(), context=context)
    assert result["messages"][-1].content == "done"
    return [m for m in result["messages"] if isinstance(m, ToolMessage)]


def answers(tmp_path: Path, *calls: tuple[str, dict[str, Any]], **options: Any) -> list[str]:
    return [str(message.content) for message in used(tmp_path, *calls, **options)]


def answer(tmp_path: Path, name: str, **arguments: Any) -> str:
    (only,) = answers(tmp_path, (name, arguments))
    return only


# Which tools there are


def test_an_agent_has_them_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    assert names(agent(Scripted(), tmp_path, [])) == ["read_file", *MEMORY_TOOLS, *THREAD_TOOLS]
    off = (None, MemoryConfig(tools=False), MemoryConfig(enabled=False))
    for memory in off:
        graph = agent(Scripted(), tmp_path, [], memory=memory)
        assert names(graph) == ["read_file"]
        assert context_policy(graph).search_tool is None
        assert "memory" not in str(context_policy(graph).tools)
    assert names(agent(Scripted(), tmp_path, [], eviction=None)) == [*MEMORY_TOOLS, *THREAD_TOOLS]


def test_a_model_that_cannot_call_tools_gets_none(tmp_path: Path) -> None:
    graph = create(FakeListChatModel(responses=["hello"]), workspace=tmp_path / "workspace")
    assert names(graph) == []
    assert context_policy(graph).search_tool is None
    assert graph.invoke(say("hi"))["messages"][-1].content == "hello"


def test_names_of_the_application_win_and_ours_change_everywhere(tmp_path: Path) -> None:
    def memory_search(query: str) -> str:
        """Search the application's own memory."""
        return f"the application looked for {query}"

    def memory_get(path: str) -> str:
        """Get something of the application's own."""
        return path

    given = [memory_search, memory_get]
    graph = agent(Scripted(), tmp_path, given)
    policy = context_policy(graph)
    ours = ["memory_search_from_workspace", "memory_get_from_workspace"]
    assert names(graph) == [
        "memory_search",
        "memory_get",
        "read_file",
        *ours,
        "memory_read",
        "memory_save",
        *THREAD_TOOLS,
    ]
    assert policy.search_tool == ours[0]
    (search,) = [t["function"] for t in policy.tools if t["function"]["name"] == ours[0]]
    assert "memory_get_from_workspace reads around it" in search["description"]
    assert policy.eviction is not None
    assert set(ours) < set(policy.eviction.exclude_tools)
    assert "memory_search" not in policy.eviction.exclude_tools
    files(tmp_path).write_text("MEMORY.md", "needle\n")
    assert answers(
        tmp_path,
        ("memory_search", {"query": "needle"}),
        (ours[0], {"query": "needle"}),
        tools=given,
    ) == ["the application looked for needle", "1 match for 'needle':\nMEMORY.md#1: needle"]


def test_the_truncation_note_can_name_the_search_tool(tmp_path: Path) -> None:
    assert context_policy(agent(Scripted(), tmp_path)).search_tool == "memory_search"


def test_guidance_on_automatic_extraction_needs_the_hooks(tmp_path: Path) -> None:
    def described(**memory: Any) -> str:
        graph = agent(Scripted(), tmp_path, [], memory=MemoryConfig(**memory))
        return str(context_policy(graph).tools)

    assert "noted by itself" in described()
    assert "noted by itself" not in described(hooks=False)
    assert "noted by itself" not in described(flush_trigger={"mode": "never"})
    assert "noted by itself" not in described(tools=False)


def test_four_schemas_stay_below_five_hundred_and_fifty_tokens(tmp_path: Path) -> None:
    with_tools = context_policy(agent(Scripted(), tmp_path, []))
    without = context_policy(agent(Scripted(), tmp_path, [], memory=None))
    memory = [t for t in with_tools.tools if not t["function"]["name"].startswith("thread_")]
    assert count_schemas(memory) - without.tools_tokens < 550


@pytest.mark.parametrize("name", ["memory_save", "memory_write"])
def test_both_names_for_saving_work_and_one_is_shown(tmp_path: Path, name: str) -> None:
    (saved,) = used(tmp_path, (name, {"content": "Port 5051."}))
    assert (saved.content, saved.status, saved.name) == ("written", "success", name)
    assert files(tmp_path).read_text("MEMORY.md") == "<!-- 2026-03-02 -->\nPort 5051.\n"
    assert "memory_write" not in names(agent(Scripted(), tmp_path))


def test_an_applications_memory_write_is_not_shadowed(tmp_path: Path) -> None:
    def memory_write(content: str) -> str:
        """Write somewhere else."""
        return f"elsewhere: {content}"

    arguments = {"content": "x"}
    assert answers(
        tmp_path, ("memory_write", arguments), ("memory_save", arguments), tools=[memory_write]
    ) == ["elsewhere: x", "written"]


# memory_save


def test_saving_says_what_it_did(tmp_path: Path) -> None:
    contents = ["Blue.", " Blue.\n", "", "  \n", None, "Green."]
    assert answers(tmp_path, *(("memory_save", {"content": c}) for c in contents)) == [
        "written",
        "skipped_duplicate",
        "skipped_empty",
        "skipped_empty",
        "skipped_empty",
        "written",
    ]
    assert "Blue." in (files(tmp_path).read_text("memory/2026-03-02.md") or "")


def test_what_is_saved_for_all_agents_is_read_by_another_one_of_the_same_user(
    tmp_path: Path,
) -> None:
    ann, bob = ThreadContext(user_id="ann"), ThreadContext(user_id="bob")
    save = ("memory_save", {"content": "Ports are even.", "scope": "global"})
    assert answers(tmp_path, save, context=ann) == ["written"]
    read = ("memory_read", {"scope": "global"})
    assert "Ports are even." in answers(tmp_path, read, name="writer", context=ann)[0]
    empty = "[global/MEMORY.md is empty: nothing has been remembered yet]"
    assert answers(tmp_path, read, context=bob) == [empty]
    assert answers(tmp_path, read) == [empty]
    assert not files(tmp_path, "ann").exists("MEMORY.md")


def test_max_lines_moves_the_oldest_entries(tmp_path: Path) -> None:
    memory = MemoryConfig(hooks=False, max_lines=4)
    calls = [("memory_save", {"content": f"fact {number}"}) for number in range(3)]
    assert answers(tmp_path, *calls, memory=memory) == ["written"] * 3
    assert "fact 0" in (files(tmp_path).read_text("archive-2026-03.md") or "")
    assert "fact 0" not in (files(tmp_path).read_text("MEMORY.md") or "")


def test_a_text_that_could_never_be_shown_is_refused(tmp_path: Path) -> None:
    refused = answer(tmp_path, "memory_save", content="word " * 20_000)
    assert refused.startswith("Error: content takes about ")
    assert "at most 8000 can be saved at once; nothing was saved" in refused
    assert files(tmp_path).list_files() == []


def test_secrets_are_gone_before_anything_is_written(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("sk-123", "[redacted]")

    memory = MemoryConfig(hooks=False, redact=redact)
    save = ("memory_save", {"content": "The key is sk-123."})
    assert answers(tmp_path, save, save, memory=memory) == ["written", "skipped_duplicate"]
    for path in files(tmp_path).list_files():
        text = files(tmp_path).read_text(path) or ""
        assert "sk-123" not in text
        assert "The key is [redacted]." in text


@pytest.mark.parametrize("returned", [None, 5])
def test_a_redactor_that_fails_saves_and_says_nothing_of_the_text(
    tmp_path: Path, returned: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(text: str) -> str:
        if returned is None:
            raise ValueError(f"cannot look at {text}")
        return returned  # type: ignore[no-any-return]

    memory = MemoryConfig(hooks=False, redact=redact)
    (refused,) = used(tmp_path, ("memory_save", {"content": "sk-123"}), memory=memory)
    assert refused.status == "error"
    assert "could not be checked for secrets, so nothing was saved" in str(refused.content)
    assert "sk-123" not in str(refused.content) + caplog.text
    assert files(tmp_path).list_files() == []


def test_a_disk_that_refuses_is_told_to_the_model_and_the_call_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "workspace" / "users" / "_default" / "agents" / "agent"
    (home / "MEMORY.md").mkdir(parents=True)
    (refused,) = used(tmp_path, ("memory_save", {"content": "x"}))
    assert refused.status == "error"
    assert str(refused.content).startswith("Error: cannot read ")
    assert not (home / "memory").exists()


# memory_search


def test_a_search_has_a_count_and_places(tmp_path: Path) -> None:
    files(tmp_path).write_text("MEMORY.md", "# Facts\n- Deploy using the blue configuration\n")
    files(tmp_path).write_text("memory/2026-03-01.md", "## 10:00\nblue again\n")
    found = "MEMORY.md#2: - Deploy using the blue configuration"
    assert answer(tmp_path, "memory_search", query="BLUE") == (
        f"2 matches for 'BLUE':\n{found}\nmemory/2026-03-01.md#2: blue again"
    )
    for mode in ({"matchMode": "all"}, {"match_mode": "all"}):
        assert answer(tmp_path, "memory_search", query="deploy  blue deploy", **mode) == (
            f"1 match for 'deploy  blue deploy':\n{found}"
        )
    assert answer(tmp_path, "memory_search", query="deploy blue") == "No matches for 'deploy blue'."
    assert answer(tmp_path, "memory_search", query="deploy blue", matchMode=None).startswith("No")
    assert answer(tmp_path, "memory_search", query=" \t", match_mode="any").startswith("No matches")


def test_a_mode_that_does_not_exist_is_an_error_to_read(tmp_path: Path) -> None:
    for mode in ("", "fuzzy", 3):
        (refused,) = used(tmp_path, ("memory_search", {"query": "x", "matchMode": mode}))
        assert refused.status == "error"
        assert refused.content == (
            f"Error: match_mode={mode!r}: use 'phrase', 'all' or 'any', or leave it out for "
            "'phrase'"
        )


def test_too_many_matches_are_cut_with_a_note(tmp_path: Path) -> None:
    files(tmp_path).write_text("MEMORY.md", "needle\n" * 60)
    shown = answer(tmp_path, "memory_search", query="needle").splitlines()
    assert shown[0] == "First 50 matches for 'needle':"
    assert shown[-1] == "[there are more matches: make the query more specific]"
    assert len(shown) == 52


def test_a_result_is_small_beside_the_window(tmp_path: Path) -> None:
    files(tmp_path).write_text("MEMORY.md", ("東京" * 200 + "\n") * 60)
    (shown,) = answers(tmp_path, ("memory_search", {"query": "東京"}), context_window=8_000)
    assert count_text(shown) < 1_100
    assert shown.endswith("more specific]")


# memory_get and memory_read


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"start_line": 2, "end_line": 3}, "2|b\n3|c"),
        ({"startLine": 2, "endLine": 3}, "2|b\n3|c"),
        ({"start_line": "2", "end_line": "2"}, "2|b"),
        ({"start_line": -5, "end_line": 1}, "1|a"),
        ({"start_line": 3, "end_line": 99}, "3|c\n4|d"),
        ({}, "1|a\n2|b\n3|c\n4|d"),
        ({"end_line": None, "start_line": 4}, "4|d"),
        ({"start_line": 9}, "[MEMORY.md ends before line 9]"),
        (
            {"start_line": 3, "end_line": 2},
            "Error: end_line=2 is before start_line=3; give a later one, or leave it out to read "
            "on to the end",
        ),
    ],
)
def test_lines_are_counted_from_one_and_clamped(
    tmp_path: Path, arguments: dict[str, Any], expected: str
) -> None:
    files(tmp_path).write_text("MEMORY.md", "a\nb\nc\nd\n")
    assert answer(tmp_path, "memory_get", path="MEMORY.md", **arguments) == expected


def test_only_a_newline_ends_a_line_that_is_read(tmp_path: Path) -> None:
    files(tmp_path).write_text("memory/2026-03-01.md", "a\r\nb\fc\rd\u2028e\n\nlast")
    shown = answer(tmp_path, "memory_get", path="memory/2026-03-01.md")
    assert shown == "1|a\r\n2|b\fc\rd\u2028e\n3|\n4|last"


def test_only_memory_is_read(tmp_path: Path) -> None:
    files(tmp_path).write_text("large_tool_results/t/a.txt", "secret")
    assert answer(tmp_path, "memory_get", path="large_tool_results/t/a.txt") == (
        "Error: path 'large_tool_results/t/a.txt' is not a memory file; those are MEMORY.md, "
        "memory/YYYY-MM-DD.md, archive-YYYY-MM.md, and the same below global/"
    )
    assert answer(tmp_path, "memory_get", path="memory/2020-01-01.md") == (
        "Error: there is no file 'memory/2020-01-01.md' in memory"
    )


def test_a_long_file_and_a_long_line_can_be_paged_to_the_end(tmp_path: Path) -> None:
    text = "short\n" * 2_000 + "x" * 30_000 + "東" * 5_000 + "\nend\n"
    files(tmp_path).write_text("MEMORY.md", text)
    (read,) = [t for t in tools(tmp_path) if t.name == "memory_get"]
    arguments: dict[str, Any] = {}
    lines: dict[int, str] = {}
    for _ in range(40):
        shown = read.invoke({"path": "MEMORY.md", **arguments})
        *body, last = shown.split("\n")
        goes_on = last.startswith("[MEMORY.md goes on: memory_get again with ")
        for line in body if goes_on else [*body, last]:
            number, _, piece = line.partition("|")
            lines[int(number)] = lines.get(int(number), "") + piece
        if not goes_on:
            break
        fields = last.removesuffix("]").rpartition("with ")[2].split(", ")
        arguments = {key: int(value) for key, value in (field.split("=") for field in fields)}
    assert "".join(f"{line}\n" for line in lines.values()) == text
    beyond = read.invoke({"path": "MEMORY.md", "start_line": 1, "char_offset": 99})
    assert beyond == "Error: char_offset=99: line 1 of MEMORY.md is not that long"


def test_memory_is_read_whole(tmp_path: Path) -> None:
    text = "# Facts\n" + "- a fact\n" * 3_000
    files(tmp_path).write_text("MEMORY.md", text)
    assert answer(tmp_path, "memory_read") == text
    assert answer(tmp_path, "memory_read", scope=None) == text
    assert answer(tmp_path, "memory_read", scope="all").startswith(
        "Error: scope='all': use 'agent'"
    )
    (part,) = answers(tmp_path, ("memory_read", {}), context_window=8_000)
    head, _, note = part.rpartition("\n")
    assert text.startswith(head + "\n")
    line = head.count("\n") + 2
    assert note == f"[MEMORY.md goes on: memory_get with path='MEMORY.md', start_line={line}]"
    assert answer(tmp_path, "memory_get", path="MEMORY.md", start_line=line, end_line=line) == (
        f"{line}|- a fact"
    )


def test_one_endless_line_of_memory_is_read_in_part(tmp_path: Path) -> None:
    files(tmp_path).write_text("MEMORY.md", "y" * 100_000)
    (part,) = answers(tmp_path, ("memory_read", {}), context_window=8_000)
    head, _, note = part.rpartition("\n")
    assert note == (
        f"[MEMORY.md goes on: memory_get with path='MEMORY.md', char_offset={len(head)}]"
    )


# Where and for whom


async def test_everything_works_in_asynchronous_code(tmp_path: Path) -> None:
    called = [
        {"name": "memory_save", "args": {"content": "Port 5051."}, "id": "c1"},
        {"name": "memory_search", "args": {"query": "port", "matchMode": "all"}, "id": "c2"},
    ]
    steps = [AIMessage("", tool_calls=[call]) for call in called]
    graph = agent(Scripted(*steps, "done"), tmp_path, [], memory=MemoryConfig(hooks=False))
    result = await graph.ainvoke(say("go"), thread(), context=ThreadContext(user_id="ann"))
    told = [m.content for m in result["messages"] if isinstance(m, ToolMessage)]
    assert told[0] == "written"
    assert "MEMORY.md#2: Port 5051." in str(told[1])
    assert files(tmp_path, "ann").exists("MEMORY.md")


def test_what_was_saved_is_shown_in_the_next_thread(tmp_path: Path) -> None:
    answers(tmp_path, ("memory_save", {"content": "Ann likes blue."}))
    script = Scripted("hello")
    agent(script, tmp_path, [], memory=MemoryConfig(hooks=False)).invoke(say("hi"), thread("b"))
    assert "Ann likes blue." in str(script.requests[0])


def test_a_time_zone_that_is_none_is_refused_before_any_tool_runs(tmp_path: Path) -> None:
    context = ThreadContext(timezone="Nowhere/Else")
    with pytest.raises(ConfigurationError, match=r"ThreadContext\.timezone='Nowhere/Else'"):
        used(tmp_path, ("memory_save", {"content": "x"}), context=context)
    assert not list((tmp_path / "workspace").rglob("*.md"))


def tools(tmp_path: Path) -> list[Any]:
    """Return the tools on their own, as another graph would use them."""
    from longthread.graphs.memory_tools import memory_tools

    workspace = LocalWorkspace(tmp_path / "workspace")
    return list(memory_tools(MemoryConfig(), workspace, [], agent="agent", window=64_000).shown)


def test_the_tools_work_on_their_own(tmp_path: Path) -> None:
    search, get, read, save = tools(tmp_path)
    assert save.invoke({"content": "Port 5051."}) == "written"
    assert search.invoke({"query": "5051"}) == (
        "2 matches for '5051':\nMEMORY.md#2: Port 5051.\nmemory/2026-03-02.md#4: Port 5051."
    )
    assert get.invoke({"path": "MEMORY.md", "startLine": 2}) == "2|Port 5051."
    assert read.invoke({}) == "<!-- 2026-03-02 -->\nPort 5051.\n"
