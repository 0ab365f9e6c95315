"""Agents made from settings: what the arguments leave open, and which model plays which role."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from agents import Scripted, say, thread
from failing_provider import FailingProvider, serving
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from settings_files import clear_variables, write_settings

import longthread.graphs.agent as graphs_agent
from longthread import (
    CompactionConfig,
    FlushTrigger,
    LongthreadError,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    Settings,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
    build_agent_graph,
    compact_thread,
    context_policy,
    create_agent_graph,
)
from longthread.graphs.configured import configured
from longthread.graphs.models import resolve_model
from longthread.graphs.routed_model import RoutedModel

KEY = "sk-test-0123456789"
OPENROUTER = {"base_url": "https://openrouter.test/api/v1", "api_key": KEY}

PARTS: dict[str, Any] = {
    "memory": MemoryConfig(),
    "compaction": CompactionConfig(),
    "rolling": RollingCompactionConfig(),
    "masking": MaskingConfig(),
    "eviction": ToolResultEvictionConfig(),
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-itself")


def loaded(tmp_path: Path, auth: dict[str, Any] | None = None, **files: Any) -> Settings:
    auth = {"providers": {"openrouter": OPENROUTER}, **(auth or {})}
    return Settings.load(write_settings(tmp_path / "config", auth=auth, **files))


def nodes(settings: Settings, tmp_path: Path, **options: Any) -> Any:
    graph = build_agent_graph(settings=settings, workspace=tmp_path / "w", **options)
    return {name: node.runnable for name, node in graph.nodes.items()}


def asked(model: Any) -> list[str]:
    """Return who is asked, in order."""
    candidates = getattr(model, "candidates", None) or model.bound.candidates
    return [each.name for each in candidates]


# --- Arguments and settings ----------------------------------------------------------------------


def test_what_arguments_leave_open_is_as_in_the_settings(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        settings={
            "models": {"main": "m"},
            "memory": {"maxLines": 10, "placement": "system"},
            "compaction": {
                "threshold": 0.5,
                "observationMaskingTurns": 3,
                "truncateArgs": {"keepChars": 7, "maxArgLength": 900},
            },
            "defaultCompaction": {"autoThreshold": 60, "compactionCount": 20},
            "eviction": None,
        },
    )
    graph = create_agent_graph(
        settings=settings,
        workspace=tmp_path / "w",
        memory=MemoryConfig(max_lines=11),
        compaction=CompactionConfig(truncate_args=TruncateArgsConfig(keep_chars=8)),
        rolling=RollingCompactionConfig(compaction_count=50),
    )
    policy = context_policy(graph)
    assert policy.memory == MemoryConfig(max_lines=11, placement="system")
    assert policy.compaction == CompactionConfig(
        threshold=0.5, truncate_args=TruncateArgsConfig(keep_chars=8, max_arg_length=900)
    )
    assert policy.masking == MaskingConfig(turns=3)
    assert policy.rolling == RollingCompactionConfig(auto_threshold=60, compaction_count=50)
    assert policy.eviction is None


def test_a_default_that_is_given_wins_over_the_settings(tmp_path: Path) -> None:
    settings = loaded(tmp_path, settings={"memory": {"maxLines": 10}, "masking": None})
    given: dict[str, Any] = {
        **PARTS,
        "memory": MemoryConfig(max_lines=500),
        "masking": MaskingConfig(turns=10),
        "compaction": None,
    }
    setup = configured(settings, "agent", resolve_model, **given)
    assert setup.memory == MemoryConfig()
    assert setup.masking == MaskingConfig()
    assert setup.compaction is None
    setup = configured(settings, "agent", resolve_model, **{**PARTS, "memory": None})
    assert (setup.memory, setup.masking) == (None, None)


def test_a_trigger_is_one_value(tmp_path: Path) -> None:
    throttled = {"memory": {"flushTrigger": {"mode": "throttled", "gap": 60}}}
    settings = loaded(tmp_path, settings=throttled)
    given = MemoryConfig(flush_trigger=FlushTrigger.never())
    setup = configured(settings, "agent", resolve_model, **{**PARTS, "memory": given})
    assert setup.memory == given
    setup = configured(settings, "agent", resolve_model, **PARTS)
    assert setup.memory is not None
    assert setup.memory.flush_trigger == FlushTrigger.throttled(timedelta(seconds=60))


def test_each_agent_has_its_own(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        settings={"models": {"main": "m"}, "memory": {"maxLines": 1}},
        coder={"model": "c", "memory": {"maxLines": 2}},
    )
    for name, lines, model in (("coder", 2, "c"), ("other", 1, "m")):
        graph: Any = create_agent_graph(settings=settings, name=name, workspace=tmp_path / "w")
        memory = context_policy(graph).memory
        assert memory is not None
        assert memory.max_lines == lines
        assert asked(graph.builder.nodes["reasoning"].runnable.model) == [f"openrouter:{model}"]


def test_conditions_between_fields_hold_for_arguments_and_settings_together(
    tmp_path: Path,
) -> None:
    settings = loaded(tmp_path, settings={"compaction": {"truncateArgs": {"maxArgLength": 100}}})
    long = CompactionConfig(truncate_args=TruncateArgsConfig(keep_chars=500))
    with pytest.raises(LongthreadError, match="under max_arg_length"):
        configured(settings, "agent", resolve_model, compaction=long)


# --- Roles ---------------------------------------------------------------------------------------

MAIN = {"models": {"main": "m"}}
BOTH = {"models": {"main": "m", "compact": "c"}}


@pytest.mark.parametrize(
    ("said", "summariser", "extractor", "rolling"),
    [
        (MAIN, "m", "m", "m"),
        (BOTH, "c", "m", "m"),
        ({**BOTH, "compaction": {"model": "x"}}, "x", "m", "m"),
        ({**BOTH, "memory": {"model": "y"}}, "c", "y", "m"),
        ({**BOTH, "defaultCompaction": {"model": "z"}}, "c", "m", "z"),
        ({**BOTH, "defaultCompaction": {"model": "default"}}, "c", "m", "m"),
    ],
)
def test_which_model_plays_which_role(
    said: dict[str, Any], summariser: str, extractor: str, rolling: str, tmp_path: Path
) -> None:
    made = nodes(loaded(tmp_path, settings=said), tmp_path)
    recorded = (said.get("defaultCompaction") or {}).get("model", "default")
    assert asked(made["compaction"].summariser.model) == [f"openrouter:{summariser}"]
    assert asked(made["flush"].model) == [f"openrouter:{extractor}"]
    assert asked(made["consolidation"].model) == [f"openrouter:{extractor}"]
    assert asked(made["compaction"].rolling(recorded).model) == [f"openrouter:{rolling}"]
    assert asked(made["reasoning"].model) == ["openrouter:m"]


def test_a_model_that_is_given_takes_the_main_role(tmp_path: Path) -> None:
    settings = loaded(tmp_path, settings={**BOTH, "memory": {"model": None}})
    script = Scripted()
    made = nodes(settings, tmp_path, model=script.model)
    assert made["flush"].model.script is script
    assert asked(made["compaction"].summariser.model) == ["openrouter:c"]
    assert asked(nodes(settings, tmp_path, model="v/other")["flush"].model) == [
        "openrouter:v/other"
    ]
    given = CompactionConfig(model=Scripted().model)
    made = nodes(settings, tmp_path, compaction=given)
    assert made["compaction"].summariser.model is given.model


def test_a_thread_keeps_the_model_that_its_rolling_compaction_was_given(tmp_path: Path) -> None:
    provider = FailingProvider()
    with serving(provider):
        auth = {"providers": {"p": {"base_url": provider.url, "api_key": KEY}}}
        said = {"models": {"main": "m"}, "memory": None, "defaultCompaction": {"model": "a/b"}}
        saver = InMemorySaver()
        options: dict[str, Any] = {"workspace": tmp_path / "w", "checkpointer": saver}
        graph = create_agent_graph(settings=loaded(tmp_path, auth, settings=said), **options)
        for n in range(3):
            graph.invoke(say(f"{n} " * 300), thread())
        said["defaultCompaction"] = {"model": "default"}
        graph = create_agent_graph(settings=loaded(tmp_path, auth, settings=said), **options)
        compact_thread(graph, thread())
    assert [request["model"] for request in provider.requests] == ["m", "m", "m", "a/b"]


# --- Clients -------------------------------------------------------------------------------------


def client(settings: Settings, tmp_path: Path) -> ChatOpenAI:
    main = nodes(settings, tmp_path)["flush"].model
    assert isinstance(main, RoutedModel)
    (model,) = main.models
    assert isinstance(model, ChatOpenAI)
    return model


def test_a_client_is_made_as_the_settings_say(tmp_path: Path) -> None:
    role = {"model": "v/m", "temperature": 0.3, "maxTokens": 700, "contextWindow": 9_000}
    entry = {**OPENROUTER, "timeout": 12, "maxRetries": 5, "options": {"top_p": 0.5}}
    auth = {"providers": {"p": entry}, "models": {"main": {**role, "options": {"seed": 7}}}}
    made = client(loaded(tmp_path, auth), tmp_path)
    assert made.model_name == "v/m"
    assert made.openai_api_base == OPENROUTER["base_url"]
    assert made.openai_api_key == SecretStr(KEY)
    assert (made.temperature, made.max_tokens, made.top_p, made.seed) == (0.3, 700, 0.5, 7)
    assert (made.request_timeout, made.max_retries) == (12, 5)
    assert made.use_responses_api is False
    policy = context_policy(build_agent_graph(settings=loaded(tmp_path, auth), workspace=tmp_path))
    assert (policy.window, policy.output_reserve) == (9_000, 700)
    asked_more = build_agent_graph(
        settings=loaded(tmp_path, auth), workspace=tmp_path, context_window=5_000
    )
    assert context_policy(asked_more).window == 5_000


def test_the_window_fits_every_provider_that_may_be_asked(tmp_path: Path) -> None:
    auth = {
        "models": {"main": {"model": "openrouter:v/m", "contextWindow": 500_000}},
        "routing": {"default": "openrouter", "fallback": ["openai:gpt-4o-mini", "openai"]},
    }
    graph: Any = build_agent_graph(settings=loaded(tmp_path, auth), workspace=tmp_path)
    known = ChatOpenAI(model="gpt-4o-mini").profile
    assert known is not None
    assert context_policy(graph).window == known["max_input_tokens"]
    reasoning = graph.nodes["reasoning"].runnable
    assert asked(reasoning.model) == ["openrouter:v/m", "openai:gpt-4o-mini", "openai:v/m"]


def test_openai_needs_no_entry_but_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(tmp_path, {"providers": {}}, settings={"models": {"main": "openai:gpt-5"}})
    assert client(settings, tmp_path).openai_api_base is None
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(LongthreadError) as caught:
        create_agent_graph(settings=settings, workspace=tmp_path)
    assert "auth.json: providers.openai.api_key" in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)


def test_openais_own_key_is_never_sent_to_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = {"providers": {"p": {"base_url": "https://p.test/v1"}}}
    settings = loaded(tmp_path, auth)  # nothing names it: no mistake yet
    with pytest.raises(LongthreadError, match=r"auth\.json: providers\.p\.api_key: is missing"):
        create_agent_graph("p:m", settings=settings, workspace=tmp_path)


def test_other_providers_come_from_langchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []

    def init_chat_model(model: str, **options: Any) -> Any:
        calls.append((model, options))
        return Scripted().model

    module = ModuleType("langchain.chat_models")
    module.init_chat_model = init_chat_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain", ModuleType("langchain"))
    monkeypatch.setitem(sys.modules, "langchain.chat_models", module)
    auth = {
        "providers": {"mine": {"type": "anthropic", "api_key": KEY, "timeout": 3}},
        "models": {"main": {"model": "claude", "maxTokens": 5, "contextWindow": 7_000}},
        "routing": {"default": "mine", "fallback": ["anthropic:other"]},
    }
    graph = build_agent_graph(settings=loaded(tmp_path, auth), workspace=tmp_path)
    assert calls == [
        (
            "claude",
            {
                "model_provider": "anthropic",
                "api_key": SecretStr(KEY),
                "timeout": 3.0,
                "max_tokens": 5,
                "max_retries": 0,
                "profile": {"max_input_tokens": 7_000},
            },
        ),
        ("other", {"model_provider": "anthropic", "max_tokens": 5}),
    ]
    assert graph.nodes


@pytest.mark.parametrize("with_settings", [True, False])
def test_without_langchain_other_providers_say_what_to_install(
    with_settings: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    settings = loaded(tmp_path) if with_settings else None
    with pytest.raises(LongthreadError, match="install 'langchain'"):
        create_agent_graph("anthropic:claude", settings=settings, workspace=tmp_path)


def test_what_a_client_refuses_names_file_and_provider_and_no_key(tmp_path: Path) -> None:
    entry = {**OPENROUTER, "options": {"n": 3, "streaming": True, "top_p": "high"}}
    auth = {"providers": {"p": entry}, "models": {"main": "m"}}
    with pytest.raises(LongthreadError) as caught:
        create_agent_graph(settings=loaded(tmp_path, auth), workspace=tmp_path)
    assert "auth.json: providers.p.options.top_p=" in str(caught.value)
    assert KEY not in str(caught.value)


# --- What cannot be used -------------------------------------------------------------------------


def test_without_a_main_model_the_error_says_where_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(LongthreadError) as caught:
        create_agent_graph(settings=loaded(tmp_path), workspace=tmp_path)
    for word in ("models.main.model", "settings.json", "auth.json", "LONGTHREAD_MODEL"):
        assert word in str(caught.value)
    with pytest.raises(LongthreadError, match="pass a chat model, or 'provider:model'"):
        create_agent_graph(model=None, settings=None)


@pytest.mark.parametrize("settings", ["config", {"memory": {}}, 3])
def test_settings_are_loaded_settings(settings: Any, tmp_path: Path) -> None:
    with pytest.raises(LongthreadError, match=r"pass Settings\.load\(folder\)"):
        create_agent_graph("openai:m", settings=settings, workspace=tmp_path)


def test_a_model_that_nobody_serves_names_its_field(tmp_path: Path) -> None:
    settings = loaded(tmp_path, settings={"models": {"main": "m"}})
    with pytest.raises(LongthreadError, match="model='opnrouter:m': no provider"):
        create_agent_graph("opnrouter:m", settings=settings, workspace=tmp_path)
    given = MemoryConfig(model="nowhere:m")
    with pytest.raises(LongthreadError, match=r"MemoryConfig\.model='nowhere:m'"):
        create_agent_graph(settings=settings, memory=given, workspace=tmp_path)


@pytest.mark.parametrize(
    ("model", "name"),
    [("openai:gpt-5", "gpt-5"), ("openai/gpt-5", "gpt-5"), ("openai:a/b:c", "a/b:c")],
)
def test_both_spellings_of_a_model_work_without_settings(model: str, name: str) -> None:
    found = resolve_model(model)
    assert isinstance(found, ChatOpenAI)
    assert found.model_name == name


@pytest.mark.parametrize("model", ["meta-llama/llama:free", "/", "a/"])
def test_a_vendor_that_serves_nothing_itself_is_refused(model: str) -> None:
    with pytest.raises(LongthreadError, match="provider:model"):
        resolve_model(model)


def test_the_agent_asks_for_models_by_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Applications put their own model in its place there."""
    script = Scripted("fine")
    monkeypatch.setattr(graphs_agent, "resolve_model", lambda *_, **__: script.model)
    graph = create_agent_graph("openai:gpt-5", memory=None, workspace=tmp_path)
    assert graph.invoke(say("?"))["messages"][-1].content == "fine"
