"""Mistakes that hid one another, variables that nobody heard, values that were not as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from settings_files import clear_variables, write_settings

from longthread import Settings
from longthread.stores.settings import Mistake, SettingsError
from longthread.stores.settings.schema import settings_schemas

PROVIDER = {"base_url": "https://p.test/v1", "api_key": "none"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


def mistakes(folder: Path, **files: Any) -> tuple[Mistake, ...]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(write_settings(folder, **files))
    return caught.value.mistakes


def test_an_unknown_default_hides_no_other_unknown_provider(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        settings={
            "models": {"main": "v/m", "compact": "nowhere:a"},
            "memory": {"model": "elsewhere:b"},
            "compaction": {"model": "v/c"},
        },
        auth={"providers": {"p": PROVIDER}, "routing": {"default": "q", "fallback": ["r", "p"]}},
    )
    assert [(each.field, each.value) for each in found] == [
        ("routing.default", "'q'"),
        ("routing.fallback", "'r'"),
        ("models.compact.model", "'nowhere:a'"),
        ("memory.model", "'elsewhere:b'"),
    ]


def test_an_unknown_main_model_is_said_once_and_hides_nothing(tmp_path: Path) -> None:
    models = {"main": "nowhere:a", "compact": "elsewhere:b"}
    found = mistakes(tmp_path, settings={"models": models, "memory": {"model": "openai:x"}})
    assert [each.value for each in found] == ["'nowhere:a'", "'elsewhere:b'"]


def test_every_item_of_a_list_is_reported(tmp_path: Path) -> None:
    routing = {"default": "p", "fallback": ["", "n1", "p", 3, "n2", "n1"]}
    found = mistakes(tmp_path, auth={"providers": {"p": PROVIDER}, "routing": routing}, coder={})
    assert {each.field for each in found} == {"routing.fallback"}
    assert [each.value for each in found] == ["''", "3", "'n1'", "'n2'"]
    assert [each.fix.partition(":")[0] for each in found[:2]] == ["item 1", "item 4"]


@pytest.mark.parametrize("value", [-1, "-PT1M", "soon", True])
def test_a_value_is_shown_as_it_is_written(value: Any, tmp_path: Path) -> None:
    (wrong,) = mistakes(tmp_path, settings={"memory": {"consolidationMinGap": value}})
    assert (wrong.field, wrong.value) == ("memory.consolidationMinGap", repr(value))


# --- The environment -----------------------------------------------------------------------------


def test_the_key_none_can_be_given_in_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__LOC__API_KEY", "none")
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__LOC__BASE_URL", "http://127.0.0.1:8080/v1")
    monkeypatch.setenv("LONGTHREAD_MODEL", "loc:m")
    monkeypatch.setenv("LONGTHREAD_EVICTION__RETENTION_DAYS", "None")
    own = Settings.load(tmp_path).agent()
    key = own.router.providers["loc"].api_key
    assert key is not None
    assert key.get_secret_value() == "none"
    assert own.eviction is not None
    assert own.eviction.retention_days is None


def test_null_unsets_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGTHREAD_MEMORY__MODEL", "null")
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__P__API_KEY", "null")
    files = {"settings": {"memory": {"model": "p:m"}}, "auth": {"providers": {"p": PROVIDER}}}
    (wrong,) = mistakes(tmp_path, **files, coder={"model": "p:m"})
    assert wrong.field.lower() == "longthread_providers__p__api_key"
    assert "is missing" in wrong.fix


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("MEMORY_MAX_LINES", "LONGTHREAD_MEMORY__MAX_LINES"),
        ("ROUTING_FALLBACK", "LONGTHREAD_ROUTING__FALLBACK"),
        ("MASKING_TURNS", "LONGTHREAD_MASKING__TURNS"),
        ("MODELS_MAIN", "LONGTHREAD_MODELS__MAIN"),
        ("MODELS_MAIN_TEMPERATURE", "LONGTHREAD_MODELS__MAIN__TEMPERATURE"),
        ("DEFAULTCOMPACTION_AUTOTHRESHOLD", "LONGTHREAD_DEFAULT_COMPACTION__AUTO_THRESHOLD"),
        ("MEMORY__FLUSH_TRIGGER_GAP", "LONGTHREAD_MEMORY__FLUSH_TRIGGER__GAP"),
        ("_MEMORY__MAX_LINES", "LONGTHREAD_MEMORY__MAX_LINES"),
        ("PROVIDERS_P_API_KEY", "two underscores"),
        ("MEMORY_MAXIMUM", "two underscores"),
        ("MEMRY", "'MEMORY'"),
    ],
)
def test_a_variable_that_is_almost_right_is_a_mistake(
    variable: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"LONGTHREAD_{variable}", "1")
    (wrong,) = mistakes(tmp_path)
    assert (wrong.file, wrong.field) == ("environment", f"LONGTHREAD_{variable}")
    assert meant in wrong.fix


def test_variables_of_another_program_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DEBUG", "WORKSPACE", "SERVER_PORT", "COLOUR", "CHECKPOINTER"):
        monkeypatch.setenv(f"LONGTHREAD_{name}", "1")
    assert Settings.load(tmp_path).files == ()


# --- Schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "field", "right", "wrong"),
    [
        ("CompactionSection", "summaryPrompt", ["Sum up: {messages}\n"], ["Sum up"]),
        ("MemorySection", "consolidationPrompt", ["%d\n or %d."], ["%d", "%d %d %d"]),
        ("Provider", "base_url", ["https://p.test", "HTTP://p:8/v1"], ["x", "https://a:b@p/", "https://p?k=v"]),
        ("Provider", "api_key", ["none"], ["", "a b", "é"]),
        ("ModelRole", "model", [" m"], ["", "  "]),
    ],
)  # fmt: skip
def test_the_schema_refuses_the_texts_that_the_program_refuses(
    part: str, field: str, right: list[str], wrong: list[str]
) -> None:
    definition = settings_schemas()["settings.schema.json"]["$defs"][part]
    properties = (definition.get("anyOf") or [None, definition])[1]["properties"]
    pattern = properties[field]["pattern"]
    assert all(re.search(pattern, text) for text in right)
    assert not any(re.search(pattern, text) for text in wrong)


def test_the_schema_takes_no_negative_gap() -> None:
    memory = settings_schemas()["settings.schema.json"]["$defs"]["MemorySection"]
    number, text = memory["properties"]["consolidationMinGap"]["anyOf"]
    assert number["minimum"] == 0
    for good in ("PT10M", "P1D", "600", " 1.5", "00:10:00", "1 day, 00:00:00", "+PT1M"):
        assert re.search(text["pattern"], good)
    for bad in ("-PT1M", "-1", "soon", "", "PT-1M"):
        assert not re.search(text["pattern"], bad)
