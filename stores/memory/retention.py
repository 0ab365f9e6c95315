"""Removing evicted texts that have outlived their time. Nothing else ever removes one."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..workspace import ScopedWorkspace

__all__ = ["remove_older"]


def remove_older(files: ScopedWorkspace, folder: str, moment: datetime, days: int) -> list[str]:
    """Remove the files of a folder that were last changed more than so many days ago.

    Args:
        files: Whose files.
        folder: The folder.
        moment: Now.
        days: How long files are kept.

    Returns:
        The paths that were removed.
    """
    oldest = moment - timedelta(days=days)
    removed = []
    for path in files.list_files(folder):
        info = files.info(path)
        if info is not None and info.modified < oldest and files.delete(path):
            removed.append(path)
    return removed
