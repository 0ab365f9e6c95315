"""Which tokenizer is chosen, that the network is never used, and that counting never fails."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import inspect
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longthread.state import tokenizer
from longthread.state.estimate import estimate_tokens
from longthread.state.tokenizer import Tokenizer, load_tokenizer

FILE_NAME = hashlib.sha1(tokenizer._VOCABULARY_URL.encode()).hexdigest()


@pytest.fixture(autouse=True)
def _nothing_loaded() -> Iterator[None]:
    tokenizer._load.cache_clear()
    yield
    tokenizer._load.cache_clear()


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a tokenizer reached for the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """tiktoken's cache, empty."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def _no_bpe_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)  # importing it raises ImportError


@pytest.fixture(scope="session")
def vocabulary() -> bytes:
    """The true vocabulary file, which bpe-openai carries in compressed form."""
    packed = resources.files("bpe_openai.data").joinpath("o200k_base.tiktoken.gz").read_bytes()
    return gzip.decompress(packed)


@pytest.fixture(scope="session")
def encode() -> Callable[[str], Sequence[int]]:
    found = tokenizer._bpe_openai_encoder()
    assert found is not None
    return found


@pytest.fixture(scope="session", params=["tiktoken", "bpe-openai", "estimate"])
def any_tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vocabulary: bytes
) -> Tokenizer:
    folder = tmp_path_factory.mktemp("cache")
    if request.param == "tiktoken":
        (folder / FILE_NAME).write_bytes(vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        if request.param == "estimate":
            patch.setitem(sys.modules, "bpe_openai", None)
        tokenizer._load.cache_clear()
        loaded = load_tokenizer()
    assert loaded.name.startswith(request.param)
    return loaded


def test_tiktoken_is_used_when_its_vocabulary_is_in_its_cache(
    cache: Path, vocabulary: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (cache / FILE_NAME).write_bytes(vocabulary)
    with caplog.at_level(logging.INFO, logger="longthread"):
        loaded = load_tokenizer()
    assert loaded.name == "tiktoken/o200k_base"
    assert loaded.count("The quick brown fox doesn't jump.\n") == 7
    assert caplog.records == []


def test_the_embedded_vocabulary_is_next(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="longthread"):
        loaded = load_tokenizer()
        load_tokenizer()
    assert loaded.name == "bpe-openai/o200k_base"
    assert loaded.count("The quick brown fox doesn't jump.\n") == 7
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache", "_no_bpe_openai")
def test_the_estimate_is_last_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="longthread"):
        loaded = load_tokenizer()
        load_tokenizer()
    assert loaded.name == "estimate"
    assert loaded.count("some words") == estimate_tokens("some words")
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("longthread", "INFO")
    ]
    assert "estimate" in caplog.text


@pytest.mark.usefixtures("cache")
def test_a_damaged_bpe_openai_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    bpe_openai = tokenizer._bpe_openai_encoder() and importlib.import_module("bpe_openai")

    def fail(_: str) -> NoReturn:
        raise FileNotFoundError("o200k_base.tiktoken.gz")

    monkeypatch.setattr(bpe_openai, "get_encoding", fail)
    assert load_tokenizer().name == "estimate"


@pytest.mark.usefixtures("_no_bpe_openai")
@pytest.mark.parametrize("damage", ["cut short", "empty", "one byte wrong"])
def test_a_damaged_vocabulary_is_left_alone(cache: Path, vocabulary: bytes, damage: str) -> None:
    data = {
        "cut short": vocabulary[:-1_000],
        "empty": b"",
        "one byte wrong": b"?" + vocabulary[1:],
    }[damage]
    (cache / FILE_NAME).write_bytes(data)
    assert load_tokenizer().name == "estimate"
    assert (cache / FILE_NAME).read_bytes() == data
    assert [path.name for path in cache.iterdir()] == [FILE_NAME]


@pytest.mark.usefixtures("_no_bpe_openai")
def test_the_cache_is_looked_for_where_tiktoken_looks(
    tmp_path: Path, vocabulary: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("tiktoken", "gym", "data-gym-cache"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def chosen(**variables: str) -> str:
        for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        tokenizer._load.cache_clear()
        return load_tokenizer().name.partition("/")[0]

    ours, gym = str(tmp_path / "tiktoken"), str(tmp_path / "gym")
    assert chosen() == "estimate"
    (tmp_path / "data-gym-cache" / FILE_NAME).write_bytes(vocabulary)
    assert chosen() == "tiktoken"
    assert chosen(DATA_GYM_CACHE_DIR=gym) == "estimate"
    assert chosen(TIKTOKEN_CACHE_DIR="") == "estimate"  # tiktoken: no cache at all
    (tmp_path / "gym" / FILE_NAME).write_bytes(vocabulary)
    assert chosen(DATA_GYM_CACHE_DIR=gym) == "tiktoken"
    assert chosen(TIKTOKEN_CACHE_DIR=ours, DATA_GYM_CACHE_DIR=gym) == "estimate"


def test_what_we_know_of_the_encoding_is_what_tiktoken_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    openai_public = importlib.import_module("tiktoken_ext.openai_public")
    asked: dict[str, object] = {}

    def load(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        asked.update(url=url, sha256=expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    definition = openai_public.o200k_base()
    assert asked == {"url": tokenizer._VOCABULARY_URL, "sha256": tokenizer._VOCABULARY_SHA256}
    assert definition["pat_str"] == tokenizer._PATTERN
    assert definition["special_tokens"] == tokenizer._SPECIAL_TOKENS
    from tiktoken import load as tiktoken_load

    source = inspect.getsource(tiktoken_load.read_file_cached)
    assert "hashlib.sha1(blobpath.encode()).hexdigest()" in source
    assert "data-gym-cache" in source


def test_threads_share_one_tokenizer(cache: Path) -> None:
    assert list(cache.iterdir()) == []
    found: list[Tokenizer] = []
    threads = [threading.Thread(target=lambda: found.append(load_tokenizer())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_importing_the_module_loads_no_vocabulary() -> None:
    program = (
        "import sys; from longthread.state import tokenizer;"
        "print(tokenizer._load.cache_info().currsize, 'bpe_openai' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["0", "False"]


def test_the_empty_text_has_no_tokens(any_tokenizer: Tokenizer) -> None:
    assert any_tokenizer.count("") == 0


@pytest.mark.parametrize(
    "text",
    [
        "<|endoftext|><|endofprompt|>",
        "lone \ud800 and \udfff surrogates",
        "\x00\x01\x7f",
        "\ufeffBOM, e\u0301, 👩🏽‍💻",
    ],
    ids=["special tokens", "surrogates", "control characters", "joined characters"],
)
def test_counting_odd_text_never_fails(any_tokenizer: Tokenizer, text: str) -> None:
    assert 0 < any_tokenizer.count(text) <= 4 * len(text)


@pytest.mark.parametrize("char", ["a", " ", "\n", "=", "中", "😀", "\u0301"], ids=ascii)
def test_counting_a_very_long_run_never_fails(any_tokenizer: Tokenizer, char: str) -> None:
    # Left to itself tiktoken panics on the spaces, and old ones take an hour for the ideographs.
    assert 1_000 < any_tokenizer.count(char * 1_000_000) <= 1_000_000


def test_ten_megabytes_are_counted(any_tokenizer: Tokenizer) -> None:
    line = "2026-03-04 10:15:07,112 INFO worker: stored 8 records in 41 ms\n"
    times = 10_000_000 // len(line)
    expected = times * any_tokenizer.count(line)
    assert any_tokenizer.count(line * times) == pytest.approx(expected, rel=0.01)


@given(st.text(st.characters(), max_size=40), st.integers(1, 200))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counting_in_pieces_is_nearly_exact(
    encode: Callable[[str], Sequence[int]], text: str, times: int
) -> None:
    long = text * times
    pieces = list(tokenizer._pieces(long))
    assert "".join(pieces) == long
    assert max(map(len, pieces)) <= tokenizer._LONGEST_PIECE
    assert abs(sum(len(encode(piece)) for piece in pieces) - len(encode(long))) <= 3 * len(pieces)


def test_cutting_prose_and_code_changes_no_count(
    encode: Callable[[str], Sequence[int]],
) -> None:
    for text in (inspect.getsource(tokenizer), inspect.getsource(subprocess)):
        assert sum(len(encode(piece)) for piece in tokenizer._pieces(text)) == len(encode(text))
