"""Counting tokens with what is at hand on this machine, and never with the network.

Three ways, the first that is there: tiktoken's `o200k_base`, if its vocabulary file is already in
tiktoken's cache; the vocabulary that the package `bpe-openai` embeds; the estimate of
`longthread.state.estimate`. tiktoken itself is never asked for the encoding by name, because it
then downloads a vocabulary that is missing, and deletes and downloads one that is damaged.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import logging
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

__all__ = ["Tokenizer", "load_tokenizer"]

_logger = logging.getLogger("longthread")

# What tiktoken says about the encoding (`tiktoken_ext.openai_public.o200k_base`).
_ENCODING = "o200k_base"
_VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_SPECIAL_TOKENS = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}

# Encoders get a long text in pieces of at most this many characters. tiktoken up to 0.12 takes time
# in the square of an unbroken run (1 MB of one ideograph: an hour), 0.14 still panics on 1 MB of
# spaces, and bpe-openai refuses a million characters or 200,000 tokens at once.
_LONGEST_PIECE = 1_000
# Where a cut changes no token: before a single space, or after a line break.
_SAFE_CUT = re.compile(r"(?<=\S)(?= \S)|(?<=\n)(?=[^\s/])")


class Tokenizer(Protocol):
    """Counts the tokens of a text. Safe to share between threads."""

    @property
    def name(self) -> str:
        """How the tokens are counted, for logs and reports."""

    def count(self, text: str) -> int:
        """The tokens that `text` takes; never raises, whatever the text holds."""


class _EncoderTokenizer:
    """Counts exactly, but for a token or so at a cut inside an unbroken run."""

    def __init__(self, name: str, encode: Callable[[str], Sequence[int]]) -> None:
        self.name = name
        self._encode = encode

    def count(self, text: str) -> int:
        return sum(len(self._encode(piece)) for piece in _pieces(text))


class _EstimateTokenizer:
    name = "estimate"

    def count(self, text: str) -> int:
        # Its patterns are compiled only where there is no vocabulary.
        from .estimate import estimate_tokens

        return estimate_tokens(text)


def load_tokenizer() -> Tokenizer:
    """The best tokenizer that is at hand, chosen once per process.

    Reads at most one file and opens no connection. Anything but tiktoken's own vocabulary is said
    in one INFO line of the logger `longthread`. The first call takes up to a second (it loads a
    vocabulary), so make it where blocking is allowed: while a graph is built, not in a node.
    """
    with _LOADING:
        return _load()


_LOADING = threading.Lock()


@functools.cache
def _load() -> Tokenizer:
    encode = _tiktoken_encoder()
    if encode is not None:
        return _EncoderTokenizer(f"tiktoken/{_ENCODING}", encode)
    encode = _bpe_openai_encoder()
    tokenizer: Tokenizer
    if encode is not None:
        tokenizer = _EncoderTokenizer(f"bpe-openai/{_ENCODING}", encode)
    else:
        tokenizer = _EstimateTokenizer()
    _logger.info(
        "tiktoken's %s vocabulary is not in its cache; counting tokens with %s",
        _ENCODING,
        tokenizer.name,
    )
    return tokenizer


def _tiktoken_encoder() -> Callable[[str], Sequence[int]] | None:
    vocabulary = _cached_vocabulary()
    if vocabulary is None:
        return None
    import tiktoken

    ranks = {}
    for line in vocabulary.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    encoding = tiktoken.Encoding(
        _ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL_TOKENS
    )
    return encoding.encode_ordinary


def _cached_vocabulary() -> bytes | None:
    """The vocabulary file, looked for where tiktoken looks and taken only if its hash is right."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir(), "data-gym-cache"))
    if not folder:  # tiktoken: the cache is turned off
        return None
    name = hashlib.sha1(_VOCABULARY_URL.encode(), usedforsecurity=False).hexdigest()
    try:
        vocabulary = Path(folder, name).read_bytes()
    except OSError:
        return None
    return vocabulary if hashlib.sha256(vocabulary).hexdigest() == _VOCABULARY_SHA256 else None


def _bpe_openai_encoder() -> Callable[[str], Sequence[int]] | None:
    try:
        # Its import calls a function that Python 3.11 and 3.12 call deprecated: nothing that our
        # user could change, and not to be a failure where warnings are errors.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            bpe_openai = importlib.import_module("bpe_openai")
            encoding = bpe_openai.get_encoding(_ENCODING)
    except ImportError:
        return None
    except Exception as error:  # installed but damaged: an estimate is better than no agent
        _logger.debug("bpe-openai cannot be used: %r", error)
        return None
    encode: Callable[[str], Sequence[int]] = encoding.encode_ordinary
    return encode


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces no longer than `_LONGEST_PIECE`, cut at safe places where there are any."""
    start = 0
    while len(text) - start > _LONGEST_PIECE:
        end = start + _LONGEST_PIECE
        cut = _SAFE_CUT.search(text, start + _LONGEST_PIECE // 2, end)
        if cut is not None:
            end = cut.start()
        yield text[start:end]
        start = end
    yield text[start:]
