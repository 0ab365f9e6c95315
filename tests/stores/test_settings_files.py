"""Settings files: the reference's shape, what wins over what, and what it comes to."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settings_files import clear_variables, write_settings

from longthread import Settings
from longthread.state.config import (
    CompactionConfig,
    FlushTrigger,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
)
from longthread.stores.settings import SettingsError
from longthread.stores.settings.layers import Layer
from longthread.stores.settings.merging import merged
from longthread.stores.settings.model_shapes import ModelRole, Provider, Routing
from longthread.stores.settings.routes import Route, RouteError, Router


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


REFERENCE: dict[str, list[dict[str, Any]]] = {
    "settings": [
        {"memory": {"enabled": True, "maxLines": 500}},
        {"compaction": {"threshold": 0.8, "observationMaskingTurns": 10}},
        {
            "models": {
                "main": {"model": "anthropic/claude-4-6-sonnet"},
                "compact": {"model": "google/gemini-flash-1.5-8b"},
            }
        },
    ],
    "coder": [
        {"memory": {"enabled": True, "maxLines": 300}},
        {
            "defaultCompaction": {
                "enabled": True,
                "compactionCount": 50,
                "autoThreshold": 80,
                "model": "default",
                "customInstructions": "Keep the list of open tasks.",
            }
        },
        {"defaultCompaction": {"autoThreshold": 75}},
    ],
    "auth": [
        {
            "providers": {
                "openrouter": {
                    "type": "openai",
                    "base_url": "https://openrouter.ai/api/v1",
                    "api_key": "sk-or-v1-...",
                }
            },
            "routing": {"default": "openrouter", "fallback": []},
        }
    ],
}


@pytest.mark.parametrize(
    ("file", "example"), [(file, each) for file, examples in REFERENCE.items() for each in examples]
)
def test_the_references_examples_load_unchanged(
    file: str, example: dict[str, Any], tmp_path: Path
) -> None:
    auth = REFERENCE["auth"][0]  # names the provider that the models are routed to
    settings = Settings.load(write_settings(tmp_path, **{"auth": auth, file: example}))
    assert settings.files[0] == "auth.json"


def test_the_references_files_together_are_these_settings(tmp_path: Path) -> None:
    whole = {
        name: {key: value for part in parts for key, value in part.items()}
        for name, parts in REFERENCE.items()
    }
    settings = Settings.load(write_settings(tmp_path, **whole))
    coder, other = settings.agent("coder"), settings.agent("other")
    assert settings.agents == ("coder",)
    assert coder.memory == MemoryConfig(enabled=True, max_lines=300)
    assert other.memory == MemoryConfig(enabled=True, max_lines=500)
    assert coder.compaction == CompactionConfig(threshold=0.8)
    assert coder.masking == MaskingConfig(turns=10)
    assert coder.eviction == ToolResultEvictionConfig()
    assert coder.rolling == RollingCompactionConfig(auto_threshold=75)
    assert other.rolling == RollingCompactionConfig()
    assert coder.main is not None
    assert coder.router.routes(coder.main.model or "") == (
        Route("openrouter", "anthropic/claude-4-6-sonnet"),
    )
    key = coder.router.providers["openrouter"].api_key
    assert key is not None
    assert key.get_secret_value() == "sk-or-v1-..."


def test_an_empty_folder_says_nothing(tmp_path: Path) -> None:
    own = Settings.load(tmp_path).agent("anyone")
    assert own.memory == MemoryConfig()
    assert own.memory.model_fields_set == set()
    assert own.main is None


def test_settings_of_another_program_are_left_alone(tmp_path: Path) -> None:
    settings = Settings.load(
        write_settings(
            tmp_path,
            settings={"$schema": "./settings.schema.json", "port": 5051, "x-mine": [1]},
            coder={"name": "coder", "description": "…", "tools": ["bash"], "mcpServers": {}},
        )
    )
    assert settings.ignored == {
        "settings.json": ("$schema", "port", "x-mine"),
        "agents/coder/agent.json": ("name", "description", "tools", "mcpServers"),
    }


def test_both_spellings_durations_and_short_forms(tmp_path: Path) -> None:
    write_settings(
        tmp_path,
        settings={
            "memory": {
                "max_lines": 7,
                "consolidationMinGap": 90,
                "flush_trigger": {"mode": "throttled", "gap": "PT10M"},
            },
            "models": {"main": "openai:gpt-5-mini"},
            "masking": None,
        },
        quiet={"memory": {"flushTrigger": "never"}, "model": "openai:gpt-5-nano"},
    )
    settings = Settings.load(tmp_path)
    memory, quiet = settings.agent().memory, settings.agent("quiet")
    assert memory is not None
    assert memory.max_lines == 7
    assert memory.consolidation_min_gap == timedelta(seconds=90)
    assert memory.flush_trigger == FlushTrigger.throttled(timedelta(minutes=10))
    assert quiet.memory is not None
    assert quiet.memory.flush_trigger == FlushTrigger.never()
    assert quiet.memory.max_lines == 7
    assert quiet.main == ModelRole(model="openai:gpt-5-nano")
    assert quiet.masking is None


# --- What wins ----------------------------------------------------------------------------------

PLACES = ("auth", "settings", "agent", "environment")


@given(
    said=st.dictionaries(
        st.sampled_from(PLACES),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.none(), max_size=3),
    )
)
def test_each_field_comes_from_the_strongest_place_that_names_it(
    said: dict[str, dict[str, Any]],
) -> None:
    layers = [Layer(place, {"part": said[place]}) for place in PLACES if place in said]
    result = merged(layers)
    for name in "abc":
        naming = [place for place in PLACES if name in said.get(place, {})]
        found = result.values.get("part", {})
        assert (name in found) == bool(naming)
        if naming:
            assert found[name] == said[naming[-1]][name]
            assert result.sources["part", name].source == naming[-1]


FIELDS: list[tuple[str, dict[str, Any], str, Any]] = [
    # where, what it says, how many lines hold then, which model is main
    ("auth", {"models": {"main": "openai:from-auth"}}, "default", "from-auth"),
    (
        "settings",
        {"memory": {"maxLines": 2}, "models": {"main": "openai:from-settings"}},
        "2",
        "from-settings",
    ),
    ("coder", {"memory": {"maxLines": 3}, "model": "openai:from-agent"}, "3", "from-agent"),
    ("environment", {"MEMORY__MAX_LINES": "4", "MODEL": "openai:from-env"}, "4", "from-env"),
]


@pytest.mark.parametrize("strongest", range(len(FIELDS)))
@pytest.mark.parametrize("weakest", range(len(FIELDS)))
def test_environment_wins_over_agent_over_settings_over_auth(
    strongest: int, weakest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, said, _, _ in FIELDS[weakest : strongest + 1]:
        if where == "environment":
            for name, text in said.items():
                monkeypatch.setenv(f"LONGTHREAD_{name}", text)
        else:
            write_settings(tmp_path, **{where: said})
    own = Settings.load(tmp_path).agent("coder")
    if weakest > strongest:
        assert own.main is None
        return
    _, _, lines, model = FIELDS[strongest]
    assert own.main == ModelRole(model=f"openai:{model}")
    assert own.memory is not None
    assert own.memory.max_lines == (500 if lines == "default" else int(lines))


def test_a_stronger_place_that_names_a_model_replaces_what_was_said_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(
        tmp_path,
        settings={"models": {"main": {"model": "a", "provider": "openai", "contextWindow": 9_000}}},
        coder={"model": "anthropic:b"},
    )
    monkeypatch.setenv("LONGTHREAD_MODELS__MAIN__TEMPERATURE", "0.5")
    settings = Settings.load(tmp_path)
    assert settings.agent("coder").main == ModelRole(model="anthropic:b", temperature=0.5)
    main = settings.agent().main
    assert main == ModelRole(model="a", provider="openai", context_window=9_000, temperature=0.5)


def test_a_provider_can_be_said_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings(
        tmp_path, settings={"providers": {"open-router": {"baseUrl": "https://o.test/v1"}}}
    )
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__OPEN_ROUTER__API_KEY", "123456")
    monkeypatch.setenv("LONGTHREAD_ROUTING__FALLBACK", "openai, anthropic:claude")
    own = Settings.load(tmp_path).agent()
    (provider,) = own.router.providers.values()
    assert provider.base_url == "https://o.test/v1"
    assert provider.api_key is not None
    assert provider.api_key.get_secret_value() == "123456"
    assert own.router.routing.fallback == ("openai", "anthropic:claude")


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("MEMORY__ENABLED", "no", ("memory", "enabled"), False),
        ("MEMORY", '{"maxLines": 3, "tools": false}', ("memory", "max_lines"), 3),
        ("MEMORY__CONSOLIDATION_MIN_GAP", "60",
         ("memory", "consolidation_min_gap"), timedelta(seconds=60)),
        ("MEMORY__FLUSH_PROMPT", "[null]", ("memory", "flush_prompt"), "[null]"),
        ("COMPACTION__THRESHOLD", " 0.5 ", ("compaction", "threshold"), 0.5),
        ("COMPACTION__TRUNCATE_ARGS__KEEP_CHARS", "9",
         ("compaction", "truncate_args", "keep_chars"), 9),
        ("COMPACTION__OBSERVATION_MASKING_TURNS", "4", ("masking", "turns"), 4),
        ("MASKING__BATCH", "3", ("masking", "batch"), 3),
        ("MASKING__EXCLUDE_TOOLS", "a, b", ("masking", "exclude_tools"), ("a", "b")),
        ("EVICTION__EXCLUDE_TOOLS", '["a"]', ("eviction", "exclude_tools"), ("a",)),
        ("DEFAULT_COMPACTION__AUTO_THRESHOLD", "null", ("rolling", "auto_threshold"), None),
        ("EVICTION", "null", ("eviction",), None),
        ("MODELS__COMPACT", "openai:x", ("compact", "model"), "openai:x"),
        ("models__main__options", '{"top_p": 0.5}', ("main", "options"), {"top_p": 0.5}),
    ],
)  # fmt: skip
def test_a_variable_is_read_as_what_its_field_takes(
    variable: str,
    text: str,
    field: tuple[str, ...],
    value: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"LONGTHREAD_{variable}", text)
    monkeypatch.setenv("LONGTHREAD_MODEL", "openai:m")
    monkeypatch.setenv("LONGTHREAD_DEBUG", "1")
    monkeypatch.setenv("LONGTHREAD_SOMEBODY_ELSES", "1")
    monkeypatch.setenv("LONGTHREAD_ROUTING__DEFAULT", "  ")
    found: Any = Settings.load(tmp_path).agent()
    for name in field:
        found = getattr(found, name)
    assert found == value


# --- Where a model is served ---------------------------------------------------------------------

ROUTER = Router(
    {"main": Provider(base_url="https://m.test/v1"), "spare": Provider(), "local": Provider()},
    Routing(default="main", fallback=("spare", "openai:other")),
)
FALLBACK = (Route("spare", "v/m"), Route("openai", "other", same_model=False))


@pytest.mark.parametrize(
    ("router", "model", "provider", "routes"),
    [
        (ROUTER, "v/m", None, (Route("main", "v/m"), *FALLBACK)),
        (ROUTER, "main:v/m", None, (Route("main", "v/m"), *FALLBACK)),
        (ROUTER, "v/m:free", None, (Route("main", "v/m:free"), Route("spare", "v/m:free"),
                                    Route("openai", "other", same_model=False))),
        (ROUTER, "local:m", None, (Route("local", "m"),)),  # what is said there stays there
        (ROUTER, "m:7b", "local", (Route("local", "m:7b"),)),
        (ROUTER, "local:m:7b", None, (Route("local", "m:7b"),)),
        (ROUTER, "anthropic:c", None, (Route("anthropic", "c"),)),
        (Router(), "openai/gpt-5", None, (Route("openai", "gpt-5"),)),
        (Router(), "google/gemini", None, (Route("google_genai", "gemini"),)),
        (Router({"one": Provider()}), "m", None, (Route("one", "m"),)),
        (Router(routing=Routing(default="openai")), "openai/g", None, (Route("openai", "g"),)),
        (Router(routing=Routing(default="openai")), "meta/g", None, (Route("openai", "meta/g"),)),
        (Router(routing=Routing(fallback=("openai:o",)), main=ModelRole(model="anthropic:c")),
         "anthropic:c", None, (Route("anthropic", "c"), Route("openai", "o", same_model=False))),
    ],
)  # fmt: skip
def test_the_way_to_a_model(
    router: Router, model: str, provider: str | None, routes: tuple[Route, ...]
) -> None:
    assert router.routes(model, provider) == routes


@pytest.mark.parametrize(
    ("router", "model", "says"),
    [
        (ROUTER, "lokal:m", "did you mean 'local'?"),
        (ROUTER, "qwen2.5:7b", "'main:qwen2.5:7b' if that is its name"),
        (ROUTER, ":m", "provider:model"),
        (Router(), "gpt-5", "openai:gpt-5"),
        (Router(), "meta-llama/llama", "routing.default"),
        (Router(routing=Routing(default="nowhere")), "m", "no provider 'nowhere'"),
    ],
)
def test_a_model_that_nobody_serves_says_what_to_write(
    router: Router, model: str, says: str
) -> None:
    with pytest.raises(RouteError) as caught:
        router.routes(model)
    assert says in str(caught.value)


# --- What the documentation shows ----------------------------------------------------------------


def test_the_files_in_the_documentation_load(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/settings.md").read_text(encoding="utf-8")
    files = re.findall(r"^```json (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in files] == ["settings.json", "agents/coder/agent.json", "auth.json"]
    for name, content in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        Settings.load(tmp_path)
    (ellipsis,) = caught.value.mistakes  # the only thing that is left out
    assert ellipsis.field == "providers.openrouter.api_key"
    assert "no HTTP header" in ellipsis.fix
    path.write_text(content.replace("…", "key"), encoding="utf-8")
    own = Settings.load(tmp_path).agent("coder")
    assert own.router.routes("m") == (
        Route("openrouter", "m"),
        Route("local", "qwen3-8b", same_model=False),
    )
