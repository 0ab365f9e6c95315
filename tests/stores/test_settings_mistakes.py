"""What is wrong in settings files: everything at once, with file, field, value and fix."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from settings_files import clear_variables, write_settings

from longthread import LongthreadError, MemoryConfig, Settings
from longthread.stores.settings import Mistake, SettingsError
from longthread.stores.settings.json_text import JsonMistake, parse_json
from longthread.stores.settings.schema import settings_schemas, write_schemas

SECRET = "swordfish-9f8e7d6c5b4a"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


def mistakes(folder: Path, **files: Any) -> tuple[Mistake, ...]:
    """Return what is wrong in these files."""
    with pytest.raises(SettingsError) as caught:
        Settings.load(write_settings(folder, **files))
    assert isinstance(caught.value, LongthreadError)
    assert caught.value.code == "INVALID_SETTINGS"
    assert all(str(each) in str(caught.value) for each in caught.value.mistakes)
    return caught.value.mistakes


def test_every_mistake_in_every_file_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGTHREAD_MEMORY__MAXLINES", "3")
    monkeypatch.setenv("LONGTHREAD_MEMROY__MAX_LINES", "3")
    monkeypatch.setenv("LONGTHREAD_MASKING__TURNS", "many")
    monkeypatch.setenv("LONGTHREAD_COMPACTION", '{"threshhold": 0.5}')
    found = mistakes(
        tmp_path,
        settings={
            "memory": {"maxLine": 3, "maxLines": "500", "enabled": 1, "redact": "x"},
            "compaction": {"threshold": 1.5, "truncateArgs": {"maxArgLength": 0}},
            "masking": False,
            "rolling": {"compactionCount": 3},
            "model": "x",
        },
        auth={
            "providers": {"p": {"type": "Open AI"}},
            "routing": {"default": "q", "fallback": [1]},
        },
        coder={"defaultCompaction": {"autoThreshold": 100}, "compaction": []},
    )
    said = {(each.file, each.field): (each.value, each.fix) for each in found}
    assert len(said) == len(found)
    expected: dict[tuple[str, str], tuple[str | None, str]] = {
        ("settings.json", "memory.maxLine"): ("3", "did you mean 'maxLines'"),
        ("settings.json", "memory.maxLines"): ("'500'", "valid integer"),
        ("settings.json", "memory.enabled"): ("1", "valid boolean"),
        ("settings.json", "memory.redact"): ("'x'", "only be given in Python"),
        ("settings.json", "compaction.threshold"): ("1.5", "less than or equal to 1"),
        ("settings.json", "compaction.truncateArgs.maxArgLength"): ("0", "greater than"),
        ("settings.json", "masking"): ("False", "null to turn it off"),
        ("settings.json", "rolling"): ("{…} (1 fields)", "did you mean 'defaultCompaction'"),
        ("settings.json", "model"): ("'x'", "did you mean 'models.main'"),
        ("auth.json", "providers.p.type"): ("'Open AI'", "pattern"),
        ("auth.json", "routing.default"): ("'q'", "no provider 'q'"),
        ("auth.json", "routing.fallback"): ("1", "item 1"),
        ("agents/coder/agent.json", "defaultCompaction.autoThreshold"): ("100", "equal to 99"),
        ("agents/coder/agent.json", "compaction"): ("[…] (0 items)", "null to turn it off"),
        ("environment", "LONGTHREAD_MEMORY__MAXLINES"): (None, "LONGTHREAD_MEMORY__MAX_LINES"),
        ("environment", "LONGTHREAD_MEMROY__MAX_LINES"): (None, "did you mean 'MEMORY'"),
        ("environment", "LONGTHREAD_MASKING__TURNS"): ("'many'", "valid integer"),
        ("environment", "LONGTHREAD_COMPACTION.threshhold"): ("0.5", "did you mean 'threshold'"),
    }
    assert said.keys() == expected.keys()
    for place, (value, fix) in expected.items():
        assert said[place][0] == value, place
        assert fix in said[place][1], place


def test_conditions_between_fields_hold_for_all_files_together(tmp_path: Path) -> None:
    """Each file is right alone or wrong alone; what counts is what they come to."""
    keep = {"compaction": {"truncateArgs": {"keepChars": 3_000}}}
    write_settings(tmp_path, settings={"compaction": {"truncateArgs": {"maxArgLength": 9_000}}})
    write_settings(tmp_path, coder=keep)
    own = Settings.load(tmp_path).agent("coder").compaction
    assert own is not None
    assert own.truncate_args is not None
    assert (own.truncate_args.keep_chars, own.truncate_args.max_arg_length) == (3_000, 9_000)
    (wrong,) = mistakes(tmp_path, settings={"memory": {"flushTrigger": "throttled"}}, coder={})
    assert (wrong.file, wrong.field) == ("settings.json", "memory")
    assert "needs a gap" in wrong.fix
    (wrong,) = mistakes(tmp_path, settings={"compaction": {"threshold": 0.5}}, coder=keep)
    assert wrong.file == "settings.json and agents/coder/agent.json"
    assert "under max_arg_length" in wrong.fix


def test_one_thing_said_twice_is_a_mistake(tmp_path: Path) -> None:
    (wrong,) = mistakes(tmp_path, settings={"memory": {"maxLines": 3, "max_lines": 4}})
    assert (wrong.field, wrong.fix) == (
        "memory.max_lines",
        "is the same as memory.maxLines; keep one of them",
    )
    both = {"compaction": {"observationMaskingTurns": 3}, "masking": {"turns": 4}}
    (wrong,) = mistakes(tmp_path, settings=both)
    assert wrong.field == "compaction.observationMaskingTurns"
    assert "masking.turns says 4" in wrong.fix


@pytest.mark.parametrize(
    ("auth", "file", "field", "says"),
    [
        ({"routing": {"default": "opena"}}, "auth.json", "routing.default", "'openai'"),
        ({"routing": {"fallback": ["gruq:x"]}}, "auth.json", "routing.fallback", "'groq'"),
        ({"models": {"main": "opnai:x"}}, "auth.json", "models.main.model", "'openai'"),
        ({"models": {"main": {"model": "x", "provider": "?"}}}, "auth.json",
         "models.main.provider", "'?'"),
        ({"models": {"compact": {"temperature": 0}}}, "auth.json",
         "models.compact.temperature", "no model"),
        ({"models": {"main": "bare"}}, "auth.json", "models.main.model", "which provider"),
        ({"providers": {"p": {"base_url": "https://p.test/v1"}}, "models": {"main": "m"}},
         "auth.json", "providers.p.api_key", "give the key for p.test"),
    ],
)  # fmt: skip
def test_a_provider_that_is_not_there_or_has_no_key_names_file_and_field(
    auth: Any, file: str, field: str, says: str, tmp_path: Path
) -> None:
    (wrong,) = mistakes(tmp_path, auth=auth)
    assert (wrong.file, wrong.field) == (file, field)
    assert says in wrong.fix


def test_the_models_of_parts_are_looked_up_too(tmp_path: Path) -> None:
    named = {
        "memory": {"model": "nowhere:a"},
        "compaction": {"model": "nowhere:b"},
        "defaultCompaction": {"model": "nowhere:c"},
    }
    found = mistakes(tmp_path, settings=named)
    assert [each.field for each in found] == [f"{part}.model" for part in named]


# --- JSON as people, and worse, write it ---------------------------------------------------------

HOSTILE: list[tuple[str | bytes, str]] = [
    ("", "is empty"),
    ("[]", "not a list"),
    ("null", "not null"),
    ('"x"', "not a text"),
    ("{", "line 1, column 2: not JSON"),
    ('{"memory": {"maxLines": 3},}', "a comma is too many"),
    ("{\n  // mine\n}", "line 2, column 3: not JSON"),
    ("{'memory': {}}", "double quotes"),
    ('{"memory": {"maxLines": 3, "maxLines": 4}}', "names the field 'maxLines' twice"),
    ('{"compaction": {"threshold": NaN}}', "NaN is no number"),
    ('{"compaction": {"threshold": -Infinity}}', "-Infinity is no number"),
    ('{"compaction": {"threshold": 1e999}}', "too large"),
    ('{"memory": {"maxLines": 1' + "0" * 5_000 + "}}", "5,001 digits"),
    ('{"memory": ' * 120 + "{}" + "}" * 120, "nested too deeply"),
    ("[" * 200_000, "nested too deeply"),
    ('{"memory": {"model": "\\ud800"}}', "surrogate"),
    (b'{"memory": {"model": "\xff"}}', "line 1: not UTF-8"),
    ('{"memory": {}}'.encode("utf-16"), "not UTF-8"),
    (b"{}" + b" " * 2_000_000, "over 1,000,000 bytes"),
    ('{"memory": "\x00"}', "not JSON"),
]


@pytest.mark.parametrize(("text", "says"), HOSTILE)
@pytest.mark.parametrize("file", ["settings.json", "auth.json"])
def test_a_file_that_is_no_clear_json_says_where(
    text: str | bytes, says: str, file: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    write_settings(tmp_path, coder={"memory": {"maxLines": 0}})
    with pytest.raises(SettingsError) as caught:
        Settings.load(tmp_path)
    broken, other = caught.value.mistakes
    assert (broken.file, broken.field, broken.value) == (file, "", None)
    assert says in broken.fix
    assert other.file == "agents/coder/agent.json"  # the other files are read all the same


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(b'\xef\xbb\xbf{"memory": {"maxLines": 3}}')
    memory = Settings.load(tmp_path).agent().memory
    assert memory is not None
    assert memory.max_lines == 3


def test_a_folder_or_file_that_cannot_be_read_is_one_mistake(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    os.mkfifo(tmp_path / "auth.json")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/coder").mkdir()
    (tmp_path / "agents/coder/agent.json").symlink_to("nowhere")
    found = mistakes(tmp_path)
    files = ["auth.json", "settings.json", "agents/coder/agent.json"]
    assert [each.file for each in found] == files
    assert {each.fix for each in found} == {"is no file"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "agents").write_text("", encoding="utf-8")
    (wrong,) = mistakes(other)
    assert (wrong.file, wrong.fix) == ("agents", "cannot be read (Not a directory)")
    with pytest.raises(SettingsError, match="there is no such folder"):
        Settings.load(tmp_path / "nowhere")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["memory", "maxLines", "models", "main", "model", "providers", "routing",
                         "fallback", "p", "api_key", "compaction", "truncateArgs", "options",
                         "flushTrigger", "gap", "consolidationMinGap", "batch", "masking"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.dictionaries(st.sampled_from(["memory", "compaction", "masking", "models",
                                             "providers", "routing"]), JSON))  # fmt: skip
@example(data={"memory": {"consolidationMinGap": 1e300}})
@example(data={"memory": {"flushTrigger": {"gap": -1e18}}})
@example(data={"models": {"main": True}})
def test_whatever_json_holds_it_loads_or_is_explained(data: Any, tmp_path: Path) -> None:
    write_settings(tmp_path, settings=data)
    found: tuple[Mistake, ...] = ()
    try:
        Settings.load(tmp_path)
    except SettingsError as error:
        found = error.mistakes
    assert all(each.file == "settings.json" and each.fix for each in found)


@given(JSON)
def test_what_is_json_is_read_as_python_reads_it(data: Any) -> None:
    assert parse_json(json.dumps(data)) == data


def test_an_error_about_json_does_not_keep_the_text() -> None:
    with pytest.raises(JsonMistake) as caught:
        parse_json(f'{{"api_key": "{SECRET}", }}')
    assert caught.value.__cause__ is None
    assert SECRET not in repr(vars(caught.value))


# --- Secrets -------------------------------------------------------------------------------------

LEAKS: list[dict[str, Any]] = [
    {"providers": {"p": {"api_key": SECRET, "base_url": "ftp://x"}}},
    {"providers": {"p": {"apikey": SECRET}}},
    {"providers": {"p": {"key": SECRET}}},
    {"providers": {"p": {"whatever": SECRET}}},
    {"providers": {"p": SECRET}},
    {"providers": SECRET},
    {"providers": [SECRET]},
    {"providers": {"p": {"api_key": f"{SECRET} "}}},
    {"providers": {"p": {"api_key": f"{SECRET}\n"}}},
    {"providers": {"p": {"api_key": [SECRET]}}},
    {"providers": {"p": {"base_url": f"https://me:{SECRET}@p.test/v1"}}},
    {"providers": {"p": {"base_url": f"https://p.test/v1?key={SECRET}"}}},
    {"providers": {"p": {"options": {"default_headers": {"Authorization": SECRET}}}}},
    {"providers": {"p": {"options": {"openai_api_key": SECRET}}}},
    {"providers": {"p": {"type": "?", "api_key": SECRET, "api_key2": SECRET}}},
    {"token": SECRET},
    {f"sk-{SECRET}": 1},
    {"providers": {f"sk-{SECRET}": {"type": 1}}},
    {"anything": {"at": {"all": SECRET}}},
    {"models": {"main": {"model": "nowhere:m", "options": {"x-api-key": SECRET}}}},
    {"models": {"main": {"model": "nowhere:m", "apiKey": SECRET}}},
]


@pytest.mark.parametrize("auth", LEAKS)
def test_no_mistake_shows_a_secret(auth: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(write_settings(tmp_path, auth=auth))
    error = caught.value
    said = "".join(traceback.format_exception(error)) + repr(error) + repr(error.mistakes)
    assert SECRET not in said
    assert error.__cause__ is None


def test_settings_json_hides_what_sounds_like_a_secret(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2" * 10
    data = {"apiKey": SECRET, "models": {"main": key, "password": SECRET}, "memory": {"x": key}}
    found = mistakes(tmp_path, settings=data)
    assert len(found) == 4
    assert SECRET not in repr(found)
    assert key not in repr(found)


def test_no_variable_shows_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__P__API_KEY", f"{SECRET} {SECRET}")
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__P__SECRETS", SECRET)
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__Q", f'{{"key": "{SECRET}"')
    monkeypatch.setenv("LONGTHREAD_PROVIDERS__R", f'{{"keys": "{SECRET}"}}')
    found = mistakes(tmp_path)
    assert len(found) == 4
    assert SECRET not in repr(found)


def test_nothing_that_settings_are_made_of_shows_a_key(tmp_path: Path) -> None:
    auth = {"providers": {"p": {"api_key": SECRET}}, "routing": {"default": "p"}}
    loaded = Settings.load(write_settings(tmp_path, auth=auth))
    own = loaded.agent()
    provider = own.router.providers["p"]
    things = [loaded, own, own.router, own.merged, own.merged.values, provider]
    for thing in things:
        assert SECRET not in f"{thing!r} {thing!s}"
    assert SECRET not in json.dumps(provider.model_dump(mode="json"))
    assert SECRET not in repr(copy.deepcopy(provider))
    assert SECRET.encode() in pickle.dumps(provider)  # the key itself is still there to be used


# --- Schemas -------------------------------------------------------------------------------------


def test_schemas_explain_fields_however_python_indents_docstrings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = settings_schemas()
    for docstring in (inspect.cleandoc(MemoryConfig.__doc__ or ""), MemoryConfig.__doc__):
        monkeypatch.setattr(MemoryConfig, "__doc__", docstring)  # from 3.13 on it is the first
        assert settings_schemas() == before
        memory = settings_schemas()["settings.schema.json"]["$defs"]["MemorySection"]
        assert "left out first" in memory["properties"]["maxReferenceTokens"]["description"]


def test_schemas_describe_what_loads(tmp_path: Path) -> None:
    paths = write_schemas(tmp_path / "schemas")
    assert sorted(path.name for path in paths) == [
        "agent.schema.json",
        "auth.schema.json",
        "settings.schema.json",
    ]
    schema = json.loads((tmp_path / "schemas/settings.schema.json").read_text(encoding="utf-8"))
    assert schema == settings_schemas()["settings.schema.json"]
    memory = schema["$defs"]["MemorySection"]
    assert memory["additionalProperties"] is False
    assert memory["properties"]["maxLines"] == memory["properties"]["max_lines"]
    assert "archive" in memory["properties"]["maxLines"]["description"]
    assert "redact" not in memory["properties"]
    assert schema["$defs"]["CompactionSection"]["properties"]["threshold"]["maximum"] == 1.0
    assert "observationMaskingTurns" in schema["$defs"]["CompactionSection"]["properties"]


@pytest.mark.parametrize("schema", settings_schemas().values(), ids=list(settings_schemas()))
def test_every_property_of_a_schema_is_explained(schema: dict[str, Any]) -> None:
    parts = [each for each in schema["$defs"].values() if "properties" in each]
    parts += [each["anyOf"][1] for each in schema["$defs"].values() if "anyOf" in each]
    for part in [*parts, schema]:
        for name, each in part["properties"].items():
            explained = {"description", "$ref", "const"} & set(each) or name.startswith("$")
            assert explained, (part.get("title"), name)
