"""`longthread config`: every setting and where it comes from, every mistake, and no secret."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from settings_files import clear_variables, write_settings
from typer.testing import CliRunner, Result

from longthread.apps import cli

KEY = "swordfish-9f8e7d6c5b4a"
AUTH = {
    "providers": {"openrouter": {"base_url": "https://openrouter.test/v1", "api_key": KEY}},
    "routing": {"default": "openrouter"},
}
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    clear_variables(monkeypatch)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def invoke(*args: str, env: Mapping[str, str] | None = None) -> Result:
        wide = {"COLUMNS": "200", "NO_COLOR": "1", **(env or {})}
        return CliRunner().invoke(cli.app, ["config", *args], env=wide)

    return invoke


def rows(result: Result) -> dict[str, list[str]]:
    """Return what the table shows for each setting: value and source."""
    lines = [line.split("  ") for line in result.stdout.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {line[0]: line[1:] for line in cells if len(line) == 3}


def test_every_setting_is_shown_with_its_source(run: Run, tmp_path: Path) -> None:
    write_settings(
        tmp_path,
        settings={
            "memory": {"maxLines": 300},
            "compaction": {"observationMaskingTurns": 4},
            "eviction": None,
            "models": {"main": "v/m"},
            "port": 5051,
        },
        auth=AUTH,
        coder={"model": "v/c", "memory": {"enabled": False}},
    )
    variables = {"LONGTHREAD_MEMORY__MAX_REFERENCE_TOKENS": "77", "LONGTHREAD_MODELS__COMPACT": "s"}
    result = run("check", str(tmp_path), env=variables)
    assert result.exit_code == 0, result.output
    shown = rows(result)
    assert shown["memory.maxLines"] == ["300", "settings.json"]
    assert shown["memory.maxReferenceTokens"] == ["77", "LONGTHREAD_MEMORY__MAX_REFERENCE_TOKENS"]
    assert shown["memory.placement"] == ["reference", "default"]
    assert shown["masking.turns"] == ["4", "settings.json (compaction.observationMaskingTurns)"]
    assert shown["eviction"] == ["off", "settings.json"]
    assert shown["models.compact.model"] == ["s", "LONGTHREAD_MODELS__COMPACT"]
    assert shown["providers.openrouter.apiKey"] == ["<hidden>", "auth.json"]
    assert shown["memory.enabled"] == ["no", "agents/coder/agent.json"]
    assert shown["models.main.model"] == ["v/c", "agents/coder/agent.json (model)"]
    assert "agent coder: of its own" in result.stdout
    assert "settings.json: not used here: port" in result.stdout
    assert KEY not in result.output


def test_one_agent_is_shown_whole(run: Run, tmp_path: Path) -> None:
    write_settings(tmp_path, settings={"memory": {"maxLines": 1}}, coder={"memory": None})
    result = run("check", str(tmp_path), "--agent", "coder")
    assert result.exit_code == 0
    assert rows(result)["memory"] == ["off", "agents/coder/agent.json"]
    result = run("check", str(tmp_path), "--agent", "codr")
    assert result.exit_code == 2
    assert "agents there: coder" in result.stderr


def test_every_mistake_is_listed_and_the_exit_code_is_2(run: Run, tmp_path: Path) -> None:
    write_settings(tmp_path, settings={"memory": {"maxLines": 0}}, auth={"apiKey": KEY})
    result = run("check", str(tmp_path))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[1:] == [
        "- auth.json: apiKey=<hidden>: unknown field; known here: providers, routing, models",
        "- settings.json: memory.maxLines=0: Input should be greater than or equal to 1",
    ]
    as_json = run("check", str(tmp_path), "--json")
    assert as_json.exit_code == 2
    found = json.loads(as_json.stdout)["mistakes"]
    assert [each["field"] for each in found] == ["apiKey", "memory.maxLines"]
    assert KEY not in result.output + as_json.output


def test_a_model_that_cannot_be_made_is_a_mistake(run: Run, tmp_path: Path) -> None:
    models = {"main": "openai:a", "compact": {"model": "openrouter:b", "options": {"top_p": "x"}}}
    write_settings(tmp_path, settings={"models": models}, auth=AUTH)
    result = run("check", str(tmp_path))
    assert result.exit_code == 2
    no_key, refused = [line for line in result.stderr.splitlines() if line.startswith("Error:")]
    assert "auth.json: providers.openai.api_key: is missing" in no_key
    assert "settings.json: models.compact.options.top_p='x': Input should be" in refused
    assert rows(result)["models.main.model"] == ["openai:a", "settings.json"]
    assert KEY not in result.output


def test_as_json_it_is_one_document(run: Run, tmp_path: Path) -> None:
    write_settings(tmp_path, settings={"models": {"main": "v/m"}}, auth=AUTH, coder={"masking": {}})
    document: dict[str, Any] = json.loads(run("check", str(tmp_path), "--json").stdout)
    assert document["files"] == ["auth.json", "settings.json", "agents/coder/agent.json"]
    assert document["settings"]["models.main.model"] == {"value": "v/m", "from": "settings.json"}
    assert list(document["agents"]) == ["coder"]
    assert document["mistakes"] == []
    assert KEY not in json.dumps(document)


def test_what_is_sent_along_and_what_may_be_a_key_is_not_shown(run: Run, tmp_path: Path) -> None:
    secret = "a1b2c3d4" * 4
    options = {
        "default_headers": {"X-Foo": "SECRET"},
        "default_query": {"code": "SECRET"},
        "model_kwargs": {"extra_headers": {"h": "SECRET"}, "user": "me"},
        "service_tier": secret,
    }
    base = f"https://p.test/{secret}/v1"
    auth = {"providers": {"p": {"base_url": base, "api_key": KEY, "options": options}}}
    models = {"main": {"model": "accounts/fireworks/models/llama-v3p1-405b-instruct"}}
    write_settings(tmp_path, settings={"models": models}, auth=auth)
    for format in ([], ["--json"]):
        result = run("check", str(tmp_path), *format)
        assert result.exit_code == 0, result.output
        assert "SECRET" not in result.output
        assert secret not in result.output
        assert "X-Foo: <hidden>" in result.output
        assert "https://p.test/<hidden>" in result.output
        assert models["main"]["model"] in result.output


def test_in_a_pipe_no_name_and_no_value_is_folded(run: Run, tmp_path: Path) -> None:
    name = "a-provider-of-a-name-that-is-longer-than-most"
    options = {"stop": ["one", "two", "three", "four", "five"] * 8}
    auth = {"providers": {name: {"api_key": KEY, "options": options}}}
    write_settings(tmp_path, auth=auth)
    result = run("check", str(tmp_path), env={"COLUMNS": "80"})
    assert any(
        line.startswith(f"providers.{name}.options ") and "five" in line
        for line in result.stdout.splitlines()
    )
    assert max(map(len, result.stdout.splitlines())) < 1_000


def test_an_empty_folder_is_all_defaults(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("check")
    assert result.exit_code == 0
    assert "no files" in result.stdout
    assert rows(result)["models.main"] == ["not set", "default"]
    assert {source for _, source in rows(result).values()} <= {"default", "from"}


def test_a_folder_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    result = run("check", str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "there is no such folder" in result.stderr


def test_schemas_are_written_and_named(run: Run, tmp_path: Path) -> None:
    result = run("schema", str(tmp_path / "schemas"))
    assert result.exit_code == 0
    for line in result.stdout.split():
        assert json.loads(Path(line).read_text(encoding="utf-8"))["type"] == "object"


@pytest.mark.parametrize("command", ["check", "schema"])
def test_the_commands_explain_themselves(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "FOLDER" in result.stdout
