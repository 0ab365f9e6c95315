"""Clients that cannot be made from the settings: each mistake by file and field, in one line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_openai import AzureChatOpenAI
from pydantic import Field, SecretStr
from settings_files import clear_variables, write_settings

from longthread import LongthreadError, Settings
from longthread.graphs.model_roles import ModelRoles
from longthread.graphs.models import resolve_model
from longthread.graphs.routed_model import RoutedModel

ENTRY = {"base_url": "https://p.test/v1", "api_key": "swordfish-9f8e7d6c5b4a"}
ROLE = "settings.json: models.main"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and keys of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)
    for provider in ("ANTHROPIC", "AZURE_OPENAI", "GROQ"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-itself")


def main_model(tmp_path: Path, main: Any, **providers: Any) -> RoutedModel:
    auth: dict[str, Any] = {"auth": {"providers": providers}} if providers else {}
    write_settings(tmp_path, settings={"models": {"main": main}}, **auth)
    model = ModelRoles(Settings.load(tmp_path).agent(), resolve_model).main(None)
    assert isinstance(model, RoutedModel)
    return model


def refused(tmp_path: Path, main: Any, **providers: Any) -> str:
    with warnings.catch_warnings(record=True) as warned, pytest.raises(LongthreadError) as caught:
        main_model(tmp_path, main, **providers)
    assert warned == []
    line = str(caught.value)
    assert "\n" not in line
    assert "pydantic" not in line
    assert ENTRY["api_key"] not in line
    return line


def test_values_that_a_client_refuses_are_named_where_they_stand(tmp_path: Path) -> None:
    main = {"model": "openai:m", "options": {"streaming": "maybe", "top_p": "high"}}
    first, second = refused(tmp_path, main).split("; ")
    assert first.startswith(f"{ROLE}.options.streaming='maybe': Input should be a valid boolean")
    assert second.startswith(f"{ROLE}.options.top_p='high': Input should be a valid number")
    headers = {**ENTRY, "options": {"default_headers": {"a": 1}}}
    line = refused(tmp_path, "p:m", p=headers)
    assert line.startswith("auth.json: providers.p.options.default_headers.a: Input should be")


def test_options_that_do_not_go_together_are_the_entrys(tmp_path: Path) -> None:
    line = refused(tmp_path, "p:m", p={**ENTRY, "options": {"n": 3, "streaming": True}})
    assert line == "auth.json: providers.p: n must be 1 when streaming."


def test_an_unknown_option_is_named_with_what_was_meant(tmp_path: Path) -> None:
    line = refused(tmp_path, {"model": "openai:m", "options": {"topp": 1, "x_y_z": 2}})
    assert f"{ROLE}.options.topp: ChatOpenAI has no argument 'topp'; did you mean 'top_p'?" in line
    assert f"{ROLE}.options.x_y_z: ChatOpenAI has no argument" in line
    assert "model_kwargs" in line
    known = {"top_p": 1, "max_completion_tokens": 5, "model_kwargs": {"prompt_cache_key": "k"}}
    assert main_model(tmp_path, {"model": "openai:m", "options": known}).models


@pytest.mark.parametrize(
    ("kind", "meant"), [("antropic", "did you mean 'anthropic'?"), ("zzz", "init_chat_model")]
)
def test_an_unknown_type_is_reported_as_the_type(kind: str, meant: str, tmp_path: Path) -> None:
    line = refused(tmp_path, "p:m", p={"type": kind, "api_key": ENTRY["api_key"]})
    assert line.startswith(f"auth.json: providers.p.type='{kind}': ")
    assert meant in line


def test_azure_gets_its_address_under_its_own_name(tmp_path: Path) -> None:
    """In options it would be refused: the class takes the key of OPENAI_API_KEY too."""
    entry = {"type": "azure_openai", **ENTRY, "options": {"api_version": "2024-10-21"}}
    (model,) = main_model(tmp_path, "p:m", p=entry).models
    assert isinstance(model, AzureChatOpenAI)
    assert model.azure_endpoint == ENTRY["base_url"]
    assert model.openai_api_key is not None
    assert model.openai_api_key.get_secret_value() == ENTRY["api_key"]


class Claude(FakeListChatModel):
    """A class of an integration: an empty key is none, as `ChatAnthropic` has it."""

    responses: list[str] = Field(default_factory=list)
    anthropic_api_key: SecretStr = Field(
        default_factory=lambda: SecretStr(os.environ.get("ANTHROPIC_API_KEY", "")), alias="api_key"
    )

    @property
    def lc_secrets(self) -> dict[str, str]:
        return {"anthropic_api_key": "ANTHROPIC_API_KEY", "mcp_servers": "ANTHROPIC_MCP_SERVERS"}


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-4", "anthropic:claude-sonnet-4"])
def test_a_key_that_another_provider_needs_is_missed_before_anything_is_sent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init_chat_model(model: str, *, model_provider: str, **options: Any) -> Claude:
        assert model_provider == "anthropic"
        return Claude(**options)

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    assert refused(tmp_path, name) == (
        "auth.json: providers.anthropic.api_key: is missing; give it there, or in ANTHROPIC_API_KEY"
    )
    line = refused(tmp_path, "mine:m", mine={"type": "anthropic"})
    assert line.startswith("auth.json: providers.mine.api_key: is missing; ")
    assert main_model(tmp_path, "mine:m", mine={"type": "anthropic", "api_key": "k"}).models
    line = refused(
        tmp_path, "mine:m", mine={"type": "anthropic", "api_key": "k", "options": {"cach": 1}}
    )
    assert "Claude has no argument 'cach'; did you mean 'cache'?" in line
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert main_model(tmp_path, "mine:m", mine={"type": "anthropic"}).models
