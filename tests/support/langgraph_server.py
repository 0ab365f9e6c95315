"""`langgraph dev` in a process of its own, without key and network."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

__all__ = ["langgraph_server", "running_server"]

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def running_server(folder: Path, config: Mapping[str, Any], **environment: str) -> Iterator[str]:
    """Run a server for as long as the block lasts; gives its address.

    Args:
        folder: Where it runs; modules there can be named in the configuration.
        config: What stands in `langgraph.json`.
        environment: Further environment variables.
    """
    (folder / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder,
            env={**os.environ, "LANGSMITH_TRACING": "false", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.fail(f"the server ended: {log.read_text(errors='replace')[-3_000:]}")
            try:
                if httpx.get(f"{url}/ok").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.2)
        else:
            pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-3_000:]}")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def langgraph_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that serves what our own `langgraph.json` names."""
    folder = tmp_path_factory.mktemp("server")
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    with running_server(folder, config, LONGTHREAD_WORKSPACE=str(folder / "workspace")) as url:
        yield url
