"""Why a client cannot be made from the settings: which file and field, in the settings' own words.

LangChain's classes say what they refuse by their own names, over several lines, and take a missing
key for an empty one that the endpoint then refuses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from ..state.errors import ConfigurationError
from ..stores.settings.mistakes import closest, named, quoted, shown
from .redaction import without_secrets

__all__ = ["check_key", "check_names", "refusal"]

# They have other ways to say who one is: files, roles, a machine's own identity.
_CLOUDS = frozenset({"google_genai", "google_vertexai", "google_anthropic_vertex", "ibm"})
_CLOUDS |= {"bedrock", "bedrock_converse", "anthropic_bedrock", "azure_ai", "azure_openai"}
_LONGEST = 300  # characters of what a client says


def check_names(kind: type[BaseChatModel], places: Mapping[str, str]) -> None:
    """Refuse options that the class does not take: it would send them to the endpoint, unheard.

    Args:
        kind: The class.
        places: For each option the file and field where it stands.

    Raises:
        ConfigurationError: Names each of them.
    """
    aliases = {info.alias for info in kind.model_fields.values() if info.alias}
    known = {*kind.model_fields, *aliases}
    wrong = [name for name in places if name not in known]
    if not wrong:
        return
    said = []
    for name in wrong:
        meant = closest(name, sorted(known))
        hint = f"did you mean {meant!r}? " if meant else ""
        said.append(
            f"{places[name]}: {kind.__name__} has no argument {quoted(name)}; {hint}What only the "
            "endpoint knows goes into model_kwargs"
        )
    raise ConfigurationError("; ".join(said))


def check_key(model: BaseChatModel, provider: str, where: str) -> None:
    """Refuse a client whose class says that it needs a key, and which has found none.

    Args:
        model: The client.
        provider: The provider's name as `init_chat_model` knows it.
        where: File and field of the key.
    """
    if provider in _CLOUDS:
        return
    fields = type(model).model_fields
    keys = {
        name: variable
        for name, variable in model.lc_secrets.items()
        if name.endswith(("_key", "_token")) and name in fields
    }
    if keys and not any(_is_given(getattr(model, name, None)) for name in keys):
        variables = " or ".join(keys.values())
        if not any(map(os.environ.get, keys.values())):
            raise ConfigurationError(f"{where}: is missing; give it there, or in {variables}")


def _is_given(value: Any) -> bool:
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def refusal(
    error: Exception,
    *,
    options: Mapping[str, Any],
    places: Mapping[str, str],
    where: str,
    secrets: Sequence[SecretStr],
) -> ConfigurationError:
    """Return the error of a class that refuses its arguments, as a mistake in the settings.

    Args:
        error: What the class has raised.
        options: Its arguments.
        places: For those that somebody has written the file and field.
        where: File and field of whatever is wrong besides.
        secrets: Keys that may not appear in it.
    """
    without_secrets(error, secrets)
    if not isinstance(error, ValidationError):
        return ConfigurationError(f"{where}: {_in_one_line(str(error))}")
    said: dict[str, list[str]] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        name = str(detail["loc"][0]) if detail["loc"] else ""
        place = where
        if name in places:
            inner = "".join(
                f".{named(str(step))}" for step in detail["loc"][1:2] if _is_in(step, options[name])
            )
            value = "" if inner else f"={shown(options[name], field=name)}"
            place = f"{places[name]}{inner}{value}"
        said.setdefault(place, []).append(_in_one_line(detail["msg"].removeprefix("Value error, ")))
    return ConfigurationError(
        "; ".join(f"{place}: {' or '.join(dict.fromkeys(texts))}" for place, texts in said.items())
    )


def _is_in(step: Any, value: Any) -> bool:
    return isinstance(step, str) and isinstance(value, Mapping) and step in value


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
