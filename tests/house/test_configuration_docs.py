"""The configuration reference lists every field of every model, with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from longthread.state import config

MODELS: list[type[BaseModel]] = [
    getattr(config, name) for name in config.__all__ if isinstance(getattr(config, name), type)
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_and_its_default_is_in_the_reference(
    model: type[BaseModel], root: Path
) -> None:
    text = (root / "docs/configuration.md").read_text(encoding="utf-8")
    section = text.split(f"## {model.__name__}\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
    assert list(rows) == list(model.model_fields)
    for name, field in model.model_fields.items():
        shown = rows[name].strip("`").strip('"').replace("_", "")
        if isinstance(field.default, (bool, int, float, type(None))):
            assert shown == str(field.default), name
        elif isinstance(field.default, str) and len(field.default) < 40:
            assert shown == field.default.replace("_", ""), name
