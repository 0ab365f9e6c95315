"""Who a request is from: whoever the server has authenticated."""

from __future__ import annotations

from starlette.requests import Request

from ...state.errors import WorkspaceError
from ...stores.paths import check_user
from .answers import HttpError

__all__ = ["user_of"]


def user_of(request: Request) -> str | None:
    """Return the id of the user that the server has authenticated; None: the default user.

    Raises:
        HttpError: Somebody was authenticated, but nobody says who, or what cannot be an id.
    """
    user = request.scope.get("user")
    if user is None or not user.is_authenticated:
        return None
    try:
        identity = user.identity
    except NotImplementedError:  # Starlette's own `SimpleUser` has only this
        identity = user.display_name
    if not isinstance(identity, str) or not identity:
        raise HttpError(403, "NO_IDENTITY", "the authenticated user has no identity")
    try:
        return check_user(identity)
    except WorkspaceError as error:
        raise HttpError(403, "INVALID_IDENTITY", str(error)) from None
