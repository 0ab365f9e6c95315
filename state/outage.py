"""Telling from a model's error that another provider may be asked instead.

A provider that cannot be reached, answers late, garbled or not at all, is broken or limits the rate
is an outage. A request that is too long, not permitted or wrong would fail anywhere: it is not.
"""

from __future__ import annotations

import re

from .errors import LongthreadError
from .overflow import is_context_overflow
from .overflow_evidence import evidence_of_exception, linked

__all__ = ["is_outage", "is_timeout"]

_CHAIN = 64  # exceptions looked at

# Codes, types and names of exception classes, lower case and without anything but letters.
_OUTAGE_CODE = re.compile(
    r"ratelimit|toomanyrequests|throttl|resourceexhausted|overloaded|servererror|serverexception"
    r"|serviceunavailable|^unavailable|badgateway|gatewaytimeout|timeout|timedout|deadlineexceeded"
    r"|connect(?:ion)?(?:error|aborted|refused|reset|closed)|brokenpipe|incompleteread"
    r"|^(?:transport|remoteprotocol|read|write|close|clientpayload|chunkedencoding)error"
    r"|serverdisconnected|clientconnection|^gaierror|^jsondecodeerror"
)
# Mistakes in the request, among the names of classes that are otherwise connection errors.
_MISTAKE_CODE = re.compile(
    r"localprotocolerror|unsupportedprotocol|invalidurl|invalidschema|missingschema"
    r"|outputparserexception|validationerror|authentication|permissiondenied|unauthorized|apikey"
    r"|badrequest|invalidrequest|notfound|unprocessable|contentfilter|contentpolicy"
)
# Programming errors: whatever was handled before them is not their cause.
_OWN_MISTAKES = (TypeError, AttributeError, LookupError, NameError, AssertionError)


def is_outage(error: BaseException) -> bool:
    """Say whether a model's error is its provider's trouble and not the request's.

    Args:
        error: The exception, read with those that it was raised from. A status or code that says
            whose fault it is ends the search.

    Returns:
        True for a failed, broken or timed-out connection, an answer that cannot be read, HTTP 408,
        429 and 5xx, and the codes that say the same inside a stream. False for a context overflow,
        missing permission, a bad request, and everything that no provider has said.
    """
    if not isinstance(error, Exception) or is_context_overflow(error):
        return False
    seen: set[int] = set()
    pending: list[BaseException] = [error]
    while pending and len(seen) < _CHAIN:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        verdict = _judged(one)
        if verdict is not None:
            return verdict
        pending.extend(reversed(list(linked(one))))
    return False


def is_timeout(error: BaseException) -> bool:
    """Say whether an outage has kept the caller waiting until a time-out."""
    seen: set[int] = set()
    pending = [error]
    while pending and len(seen) < _CHAIN:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if any("Timeout" in cls.__name__ for cls in type(one).__mro__):
            return True
        pending.extend(linked(one))
    return False


def _judged(error: BaseException) -> bool | None:
    """Judge one exception; None if it says nothing either way."""
    if isinstance(error, LongthreadError) and not isinstance(error, ConnectionError):
        return False
    if isinstance(error, _OWN_MISTAKES):
        return False
    status = _status(error)
    evidence = evidence_of_exception(error)
    codes = [re.sub(r"[^a-z]", "", code[:200].lower()) for code in evidence.codes]
    if status is not None and status >= 400:
        # Bedrock limits rates with 400; anything else is as the status says.
        return _is_outage_status(status) or any("throttl" in code for code in codes)
    if any(_MISTAKE_CODE.search(code) for code in codes):
        return False
    if any(_OUTAGE_CODE.search(code) for code in codes):
        return True
    statuses = {found for found in evidence.statuses if 400 <= found < 600}
    if statuses:  # an error inside a stream, or behind a gateway that answers 200
        return all(map(_is_outage_status, statuses))
    return None


def _is_outage_status(status: int) -> bool:
    return status in (408, 429) or 500 <= status < 600


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of the answer, if there was one."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "http_status"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and not isinstance(status, bool):
                return status
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        metadata = response.get("ResponseMetadata")
        status = metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None
        return status if isinstance(status, int) else None
    return None
