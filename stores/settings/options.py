"""What `options` may not hold: addresses, keys, and what has a field of its own.

The client would send the key that it finds in the environment to whatever address is in its
arguments, and `longthread config check` shows options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from .mistakes import is_key, is_secret_name, named

__all__ = ["check_options"]

# The ends of what the clients' classes call an address, in lower case, letters and digits only:
# `base_url`, `openai_api_base`, `azure_endpoint`, `anthropic_api_url`, `host`, `region_uri`.
_ADDRESS = re.compile(r"(url|uri|endpoint|host|hostname|apibase|basepath|server|serveraddress)$")
_PROXY = re.compile(r"(proxy|proxies)$")
_MODEL = frozenset({"model", "modelname", "modelid", "modelprovider"})
_NO_SECRETS = frozenset({"prompt_cache_key"})  # says which requests share a cache
# Arguments in which further arguments of the same class are.
_MORE_ARGUMENTS = frozenset({"modelkwargs", "configuration", "clientoptions", "clientargs"})
_MORE_ARGUMENTS |= {"clientkwargs", "syncclientkwargs", "asyncclientkwargs", "httpclient"}


def check_options(options: dict[str, JsonValue]) -> None:
    """Refuse options that say where to send something, or with which key.

    Args:
        options: Arguments of a LangChain chat model.

    Raises:
        ValueError: Names everything that is refused, and where it belongs.
    """
    wrong = [*_misplaced(options, "options"), *_secrets(options, "options")]
    if wrong:
        raise ValueError("; ".join(dict.fromkeys(wrong)))


def _misplaced(options: Mapping[str, JsonValue], path: str) -> Iterator[str]:
    for name, value in options.items():
        folded = re.sub(r"[^a-z0-9]", "", name.lower())
        place = f"{path}.{named(name)}"
        if _PROXY.search(folded):
            yield f"{place}: a proxy belongs in the variable HTTPS_PROXY"
        elif _ADDRESS.search(folded):
            yield f"{place}: an address belongs in providers.<name>.base_url, beside its api_key"
        elif folded in _MODEL:
            yield f"{place}: a model is named in the role: models.main.model, or agent.json's model"
        elif folded in _MORE_ARGUMENTS and isinstance(value, dict):
            yield from _misplaced(value, place)


def _secrets(value: JsonValue, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{path}.{named(name)}"
            secret = is_secret_name(name) and name not in _NO_SECRETS and inner is not None
            if is_key(name) or secret:
                yield f"{here}: a key belongs in providers.<name>.api_key of auth.json"
            else:
                yield from _secrets(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, path)
    elif isinstance(value, str) and is_key(value):
        yield f"{path}: looks like a key; it belongs in providers.<name>.api_key of auth.json"
