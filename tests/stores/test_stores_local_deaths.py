"""A process that dies while it changes several local files: all of them are changed, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from longthread.stores import LocalWorkspace, Owner
from longthread.stores.erasing import erase_remains, remains_of
from longthread.stores.local.files import stage
from longthread.stores.workspace import SweptFiles

# Dies at one call to the operating system, counted from 0, in a process of its own each time;
# says how many of them it has survived.
DYING = """
import os, sys
from longthread.stores import LocalWorkspace, Owner

count = 0

def dying(call):
    def called(*args, **kwargs):
        global count
        if count == at and not after:
            os._exit(9)
        result = call(*args, **kwargs)
        if count == at and after:
            os._exit(9)
        count += 1
        return result
    return called

for at in range(60):
    for after in (False, True):
        child = os.fork()
        if child == 0:
            folder = f"{sys.argv[1]}/{at}-{int(after)}"
            scope = LocalWorkspace(folder).scoped(Owner(None, "me"))
            for path in ("MEMORY.md", "memory/2026-03-02.md", "gone.md"):
                scope.write_text(path, "old\\n")
            for name in ("replace", "unlink", "fsync", "open"):
                setattr(os, name, dying(getattr(os, name)))
            scope.update_texts(
                ["MEMORY.md", "memory/2026-03-02.md", "gone.md", "new.md"],
                lambda old: {"memory/2026-03-02.md": "new\\n", "MEMORY.md": "new\\n",
                             "gone.md": None, "new.md": "new\\n"},
            )
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            print(at)
            sys.exit()
"""

ALL_OLD = {
    "MEMORY.md": "old\n",
    "memory/2026-03-02.md": "old\n",
    "gone.md": "old\n",
    "new.md": None,
}
ALL_NEW = {
    "MEMORY.md": "new\n",
    "memory/2026-03-02.md": "new\n",
    "gone.md": None,
    "new.md": "new\n",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_whoever_dies_in_between_has_changed_all_files_or_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    deaths = int(done.stdout)
    assert deaths > 8
    seen = []
    for folder in sorted(tmp_path.iterdir()):
        first = None
        for begins_with in ALL_OLD:
            scope = LocalWorkspace(folder).scoped(Owner(None, "me"))
            now = {path: scope.read_text(path) for path in (begins_with, *ALL_OLD)}
            assert now in ({**ALL_OLD}, {**ALL_NEW}), folder.name
            first = first or now
            assert now == first
        seen.append(first == ALL_NEW)
    assert True in seen
    assert False in seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_write_after_such_a_death_is_not_undone_by_what_is_finished_late(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], capture_output=True, check=True)
    for folder in sorted(tmp_path.iterdir()):
        scope = LocalWorkspace(folder).scoped(Owner(None, "me"))
        scope.update_text("MEMORY.md", lambda old: f"{old}mine\n")
        others = [scope.read_text(path) for path in ("memory/2026-03-02.md", "new.md")]
        assert others in (["old\n", None], ["new\n", "new\n"])
        assert scope.read_text("MEMORY.md") == f"{others[0]}mine\n"


WRITING = """
import os, sys
from longthread.stores import LocalWorkspace, Owner

os.replace = lambda *_: os._exit(9)
scope = LocalWorkspace(sys.argv[1]).scoped(Owner(None, "me"))
scope.write_text("large_tool_results/t/secret.txt", "the secret")
"""


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "locks" not in path.parts]


def test_what_a_dead_writer_has_left_is_removed_and_what_a_living_one_writes_stays(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", WRITING, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 9
    scope = LocalWorkspace(tmp_path).scoped(Owner(None, "me"))
    assert isinstance(scope, SweptFiles)
    (dead,) = left(tmp_path)
    assert dead.read_text() == "the secret"
    living = Path(stage(str(tmp_path / "users/_default/agents/me/MEMORY.md"), b"mine"))
    assert scope.remove_left_behind() == 1
    assert left(tmp_path) == [living]
    assert not dead.parent.exists()
    os.utime(living, (0, 0))  # nobody writes one file for longer than a day
    assert scope.remove_left_behind() == 1


def test_erasing_a_thread_removes_what_a_dead_writer_has_left_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 9
    scope = LocalWorkspace(tmp_path).scoped(Owner(None, "me"))
    erase_remains(scope, "t", remains_of(scope, "t", "large_tool_results", []))
    assert left(tmp_path) == []
