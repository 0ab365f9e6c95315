"""What the stories share: a real small model that answers on this machine."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_model import NoLocalModel, local_server, weights


@pytest.fixture(scope="session")
def local_model(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of the real model's server. In CI it has to be there."""
    temporary = tmp_path_factory.mktemp("local_model")
    cache = getattr(pytestconfig, "cache", None)
    try:
        if importlib.util.find_spec("xllamacpp") is None:
            raise NoLocalModel("xllamacpp is not installed: python -m pip install -e '.[local]'")
        model = weights(Path(cache.mkdir("local_model")) if cache else temporary)
    except NoLocalModel as missing:
        if "CI" in os.environ:
            raise
        pytest.skip(f"no local model: {missing}")
    with local_server(model, temporary / "server.log") as address:
        yield address
