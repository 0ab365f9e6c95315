"""What went wrong, in one line."""

from __future__ import annotations

__all__ = ["one_line"]

_LONGEST = 600


def one_line(error: BaseException) -> str:
    """Say in one line what went wrong, safe to print on a terminal."""
    from ..state.errors import LongthreadError
    from ..state.text import clip_end, visible

    usage = getattr(error, "format_message", None)
    text = str(usage() if callable(usage) else error)
    line = visible(" ".join(text.split()))
    if callable(usage):
        return f"{line.rstrip('.')}. Try --help."
    if isinstance(error, LongthreadError):
        return line
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else line
    kind = type(error).__name__
    if len(line) > _LONGEST:
        line = f"{clip_end(line, _LONGEST)} …"
    return f"{kind}: {line}" if line else f"{kind} (LONGTHREAD_DEBUG=1 shows where)"
