"""What `options` may not hold: wherever a request goes and with which key is said in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from settings_files import clear_variables, write_settings

from longthread import Settings
from longthread.stores.settings import SettingsError

SECRET = "swordfish-9f8e7d6c5b4a"
KEY = "sk-abcdef0123456789"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


def refusal(folder: Path, options: dict[str, Any], **entry: Any) -> str:
    """Return why a provider's options are refused; a role's are in the same words."""
    fixes = []
    for files in (
        {"auth": {"providers": {"p": {"options": options, **entry}}}},
        {"settings": {"models": {"main": {"model": "openai:m", "options": options}}}},
    ):
        for old in folder.glob("*.json"):
            old.unlink()
        with pytest.raises(SettingsError) as caught:
            Settings.load(write_settings(folder, **files))
        (wrong,) = caught.value.mistakes
        assert f"{wrong.file}: {wrong.field}" in (
            "auth.json: providers.p.options",
            "settings.json: models.main.options",
        )
        assert SECRET not in str(caught.value)
        assert KEY not in str(caught.value)
        fixes.append(wrong.fix)
    assert fixes[0] == fixes[1]
    return fixes[0]


def fields(kind: Any, *words: str) -> set[str]:
    """Return the arguments of a class whose names have one of these words, aliases too."""
    names = {each for name, info in kind.model_fields.items() for each in (name, info.alias or "")}
    return {name for name in names if any(word in name for word in words)}


ADDRESSES = fields(ChatOpenAI, "base", "url", "endpoint") | fields(AzureChatOpenAI, "endpoint")
KEYS = fields(ChatOpenAI, "api_key") | fields(AzureChatOpenAI, "api_key", "ad_token") - {
    "azure_ad_token_provider",
    "azure_ad_async_token_provider",
}


@pytest.mark.parametrize(
    "name",
    sorted({*ADDRESSES, "baseUrl", "BASE_URL", "anthropic_api_url", "endpoint_url", "host", "url"}),
)
def test_an_address_in_options_is_refused_by_any_name(name: str, tmp_path: Path) -> None:
    """The key of OPENAI_API_KEY would go to it."""
    fix = refusal(tmp_path, {name: "https://elsewhere.test/v1"})
    assert fix == (
        f"options.{name}: an address belongs in providers.<name>.base_url, beside its api_key"
    )
    nested = refusal(tmp_path, {"model_kwargs": {name: "https://elsewhere.test/v1"}})
    assert nested.startswith(f"options.model_kwargs.{name}: ")


def test_the_classes_arguments_are_what_they_were_when_this_was_written() -> None:
    assert {"base_url", "openai_api_base", "azure_endpoint"} <= ADDRESSES
    assert {"api_key", "openai_api_key", "azure_ad_token"} <= KEYS


@pytest.mark.parametrize("name", sorted({*KEYS, "anthropic_api_key", "apiKey", "authorization"}))
def test_a_key_in_options_is_refused_by_any_name(name: str, tmp_path: Path) -> None:
    assert "api_key of auth.json" in refusal(tmp_path, {name: SECRET})


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"default_headers": {"X-Foo": f"Bearer {SECRET}"}}, "options.default_headers.X-Foo"),
        ({"default_headers": {"h": KEY}}, "options.default_headers.h"),
        ({"default_headers": {"Authorization": SECRET}}, "options.default_headers.Authorization"),
        ({"default_query": {"api-key": SECRET}}, "options.default_query.api-key"),
        ({"extra_body": {"list": [{"a": KEY}]}}, "options.extra_body.list.a"),
        ({"stop": [KEY]}, "options.stop"),
        ({"extra_body": {KEY: 1}}, "options.extra_body.<hidden>"),
        ({"x": "ghp_0123456789abcdefghij0123"}, "options.x"),
    ],
)
def test_what_looks_like_a_key_is_refused_at_any_depth(
    options: dict[str, Any], place: str, tmp_path: Path
) -> None:
    assert refusal(tmp_path, options).startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("model", "a model is named in the role"),
        ("model_name", "a model is named in the role"),
        ("model_provider", "a model is named in the role"),
        ("openai_proxy", "HTTPS_PROXY"),
        ("anthropic_proxy", "HTTPS_PROXY"),
    ],
)
def test_what_has_a_place_of_its_own_is_sent_there(name: str, says: str, tmp_path: Path) -> None:
    assert says in refusal(tmp_path, {name: "x"})


def test_everything_that_is_wrong_in_options_is_said_at_once(tmp_path: Path) -> None:
    fix = refusal(tmp_path, {"base_url": "x", "api_key": SECRET, "model": "m", "top_p": 1})
    assert fix.count("options.") == 3


def test_other_options_are_no_business_of_ours(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "top_p": 0.5,
        "stop": ["Basic settings", "\n"],
        "default_headers": {"HTTP-Referer": "https://me.test", "X-Title": "mine"},
        "extra_body": {"provider": {"order": ["meta-llama/Llama-3.3-70B-Instruct-Turbo"]}},
        "organization": "org-1",
    }
    auth = {"providers": {"p": {"options": options}}}
    found = Settings.load(write_settings(tmp_path, auth=auth)).agent().router.providers["p"]
    assert found.options == options


@pytest.mark.parametrize("path", [KEY, f"x/{KEY}/v1", "sk%2Dabcdef0123456789", "v1/bearer%20abc"])
def test_a_key_in_the_path_of_an_address_is_refused(path: str, tmp_path: Path) -> None:
    auth = {"providers": {"p": {"base_url": f"https://p.test/{path}", "api_key": "none"}}}
    with pytest.raises(SettingsError, match="belongs in api_key") as caught:
        Settings.load(write_settings(tmp_path, auth=auth))
    assert "abcdef0123456789" not in str(caught.value)
