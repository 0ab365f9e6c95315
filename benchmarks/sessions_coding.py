"""An invented coding session: tasks in one repository, with file reads, greps, logs and diffs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .session_recorder import Message, Recorder, heavy_tailed, words

__all__ = ["coding_session"]

_SYSTEM = """\
You are a coding agent. You work in a repository through tools until the task is done.
- Look before you change: find the code, read it, reproduce the problem with a test.
- Make the smallest change that solves the problem. Keep the style of the code around it.
- Run the tests that cover a change, and the whole suite before you say that you are done.
- Never edit generated files or lock files; never push; never delete what you did not create.
- Say in a sentence or two what you do and why before each call.
- When you are done, list the files that you changed and what is left to do.
"""
_PLACES = words(
    "billing catalog checkout identity inventory ledger mailer metrics orders pricing "
    "queue reports routing scheduler search sessions shipping storage tenants webhooks"
)
_NOUNS = words(
    "account batch bucket cursor digest event invoice lease ledger limit locale message "
    "outbox page payload policy quota receipt refund retry rule schema shard slot token"
)
_VERBS = words(
    "apply build check claim close encode expire fetch flush load merge parse reconcile "
    "release render replay reserve resolve rotate schedule settle split sync validate"
)
_WORDS = words(
    "the value is read before it was written when a retry comes late so callers must not "
    "rely on order across shards unless the lease still holds and the clock moved"
)
_ERRORS = ("ValueError", "KeyError", "TimeoutError", "AssertionError", "LeaseExpired", "TypeError")


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    classes: Sequence[str]
    functions: Sequence[str]
    lines: list[str]


class _Repository:
    """Files that look the same whenever they are read."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.files: dict[str, _File] = {}
        while len(self.files) < 140:
            place, noun = rng.choice(_PLACES), rng.choice(_NOUNS)
            end = rng.choice(("", "_store", "_view", "_task", "_client"))
            path = f"src/{place}/{noun}{end}.py"
            self.files[path] = self._file(path, place, noun)
        self.home = {name: f.path for f in self.files.values() for name in f.functions}

    def _file(self, path: str, place: str, noun: str) -> _File:
        rng = self.rng
        count = heavy_tailed(rng, median=5, spread=0.9, most=60)
        functions = list(
            dict.fromkeys(f"{rng.choice(_VERBS)}_{noun}_{rng.choice(_NOUNS)}" for _ in range(count))
        )
        classes = [f"{place.title()}{noun.title()}{rng.choice(('Store', 'Policy', 'Error'))}"]
        lines = [f'"""{place}: {_sentence(rng)}"""', "", f"class {classes[0]}:", ""]
        for name in functions:
            lines += self._body(name, place)
        return _File(path, classes, functions, lines)

    def _body(self, name: str, place: str) -> list[str]:
        rng = self.rng
        noun = rng.choice(_NOUNS)
        lines = [f"    def {name}(self, {noun}_id: str, *, limit: int = {rng.randint(1, 500)}):"]
        lines.append(f'        """{_sentence(rng)}"""')
        for _ in range(heavy_tailed(rng, median=5, spread=0.8, most=40)):
            a, b, verb = rng.choice(_NOUNS), rng.choice(_NOUNS), rng.choice(_VERBS)
            lines.append(
                rng.choice(
                    (
                        f"        {a} = self.{verb}_{b}({noun}_id, limit=limit)",
                        f"        if {a} is None or {a}.{b} > {rng.randint(1, 900)}:",
                        f'            raise LookupError(f"{place}: no {a} for {{{noun}_id}}")',
                        f'        log.debug("{verb} {a} %s", {noun}_id)',
                        f"        # {_sentence(rng)}",
                    )
                )
            )
        return [*lines, f"        return {noun}_id", ""]


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(5, 12))) + "."


class _Coder:
    """The agent and its tools."""

    def __init__(self, seed: int, tokens: int) -> None:
        self.it = Recorder(f"coding-{seed}", tokens)
        self.rng = self.it.rng
        self.repository = _Repository(self.rng)
        self.paths = list(self.repository.files)
        self.read_lines: dict[str, tuple[int, list[str]]] = {}
        self.last_grep = ""

    def session(self) -> list[Message]:
        self.it.system(_SYSTEM * 2)
        while not self.it.full:
            self.task()
        return self.it.messages

    def task(self) -> None:
        """One request of the human and all that follows from it."""
        it, rng = self.it, self.rng
        path = self.a_path(new=0.7)
        file = self.repository.files[path]
        function = rng.choice(file.functions)
        error, ticket = rng.choice(_ERRORS), f"ENG-{rng.randint(1000, 9999)}"
        report = "\n".join(self.log_line() for _ in range(rng.randint(0, 12)))
        it.human(
            f"{ticket}: {function} raises {error} in production. {_sentence(rng)} "
            f"{_sentence(rng)} Find out why and fix it, with a test.\n{report}"
        )
        it.show("function", [function])
        it.show("ticket", [ticket])
        self.grep(function)
        it.show("path", [path])
        steps = heavy_tailed(rng, median=28, spread=0.5, most=90)
        acts = (self.read, self.grep, self.listing, self.edit, self.test, self.diff, self.shell)
        early, late = (38, 28, 10, 8, 8, 2, 6), (20, 12, 2, 28, 24, 8, 6)
        for at in range(steps):
            weights = early if at < steps * 0.4 else late
            rng.choices(acts, weights)[0]()
            if it.full:
                break
        changed = ", ".join(dict.fromkeys(self.a_path() for _ in range(rng.randint(1, 4))))
        it.say(
            f"{ticket} is fixed: {function} no longer raises {error}. Changed: {changed}. "
            f"{self.a_function()} is covered by a new test. {_sentence(rng).capitalize()}"
        )

    def a_path(self, new: float = 0.0) -> str:
        if self.rng.random() < new:
            return self.rng.choice(self.paths)
        return self.it.recall("path", self.rng.choice(self.paths))

    def a_function(self) -> str:
        return self.it.recall("function", self.rng.choice(list(self.repository.home)))

    def read(self, path: str | None = None) -> None:
        path = path or self.a_path(new=0.1)
        file = self.repository.files[path]
        wanted = heavy_tailed(self.rng, median=30, spread=1.3, most=900)
        start = self.rng.randint(0, max(0, len(file.lines) - wanted))
        lines = list(enumerate(file.lines, start=1))[start : start + wanted]
        text = "\n".join(f"{number:6}\t{line}" for number, line in lines)
        arguments = {"path": path, "view_range": [start + 1, start + wanted]}
        why = (
            f"Let me look at {path}, where {self.a_function()} should be handled. "
            f"{_sentence(self.rng).capitalize()}"
        )
        self.it.call(why, "view_file", arguments, text)
        self.read_lines[path] = (self.it.step, file.lines[start : start + wanted])
        self.it.show("path", [path])
        self.it.show("function", [f for f in file.functions if f in text][:25])

    def grep(self, wanted: str | None = None) -> None:
        function = wanted or self.a_function()
        if function == self.last_grep:
            function = self.rng.choice(list(self.repository.home))
        self.last_grep = function
        count = heavy_tailed(self.rng, median=5, spread=1.2, most=150)
        paths = sorted(self.rng.sample(self.paths, min(len(self.paths), 1 + count // 3)))
        home = self.repository.home.get(function)
        hits = [home] if home else []
        hits += self.rng.choices(paths, k=count)
        text = "\n".join(
            f"{path}:{self.rng.randint(1, 400)}:        self.{function}("
            f"{self.rng.choice(_NOUNS)}_id, limit={self.rng.randint(1, 99)})"
            for path in hits
        )
        self.it.call(f"Who calls {function}?", "grep", {"pattern": function, "path": "src"}, text)
        self.it.show("path", [path for path in hits if path][:25])

    def listing(self) -> None:
        place = self.a_path(new=0.3).split("/")[1]
        paths = [path for path in self.paths if path.startswith(f"src/{place}/")]
        text = "\n".join(f"-rw-r--r-- 1 dev dev {len(p) * 311:6} {p}" for p in paths)
        self.it.call(
            f"What else is in src/{place}?", "bash", {"command": f"ls -l src/{place}/*.py"}, text
        )
        self.it.show("path", paths)

    def edit(self) -> None:
        path, rng = self.a_path(), self.rng
        if path not in self.read_lines or self.it.step - self.read_lines[path][0] > 12:
            self.read(path)
        lines = self.read_lines[path][1]
        size = heavy_tailed(rng, median=5, spread=0.9, most=80)
        start = rng.randint(0, max(0, len(lines) - size))
        old = lines[start : start + size]
        new = [line.replace("is None", "is not None") for line in old]
        new.insert(len(new) // 2, f"        {rng.choice(_NOUNS)} = self.{self.a_function()}(limit)")
        arguments = {"path": path, "old": "\n".join(old), "new": "\n".join(new)}
        shown = "\n".join(f"{start + at:6}\t{line}" for at, line in enumerate(new))
        self.it.call(
            f"The fix belongs in {path}: {self.a_function()} must check first. {_sentence(rng)}",
            "edit_file",
            arguments,
            f"{path} was edited.\n{shown}",
        )

    def test(self) -> None:
        rng, path = self.rng, self.a_path()
        name = path.split("/")[-1].removesuffix(".py")
        target = f"tests/{path.split('/')[1]}/test_{name}.py"
        count = heavy_tailed(rng, median=8, spread=1.3, most=300)
        names = rng.choices(list(self.repository.home), k=count)
        log = [f"{target}::test_{f} PASSED [{at * 100 // count:3}%]" for at, f in enumerate(names)]
        failed = self.a_function()
        if rng.random() < 0.5:
            log += [f"=== FAILURES ===\n___ test_{failed} ___", *self.trace(failed)]
        log.append(f"{count} passed in {rng.randint(1, 90)}.{rng.randint(10, 99)}s")
        self.it.call(
            f"Run the tests of {name}.", "bash", {"command": f"pytest -v {target}"}, "\n".join(log)
        )
        self.it.show("function", [failed])

    def trace(self, function: str) -> list[str]:
        depth = heavy_tailed(self.rng, median=4, spread=0.8, most=60)
        frames = [self.rng.choice(self.paths) for _ in range(depth)]
        self.it.show("path", frames[-3:])
        lines = [
            f'  File "{path}", line {self.rng.randint(1, 400)}, in {function}\n'
            f"    {self.rng.choice(_NOUNS)} = self.{function}({self.rng.choice(_NOUNS)}_id)"
            for path in frames
        ]
        return [*lines, f"E   {self.rng.choice(_ERRORS)}: {_sentence(self.rng)}"]

    def diff(self) -> None:
        paths = [self.a_path() for _ in range(self.rng.randint(1, 3))]
        parts = []
        for path in dict.fromkeys(paths):
            size = heavy_tailed(self.rng, median=14, spread=1.0, most=200)
            body = [self.rng.choice("  +-") + line for line in self.repository.files[path].lines]
            parts.append(f"--- a/{path}\n+++ b/{path}\n" + "\n".join(body[:size]))
        self.it.call(
            "Check the change as a whole.", "bash", {"command": "git diff"}, "\n".join(parts)
        )

    def shell(self) -> None:
        count = heavy_tailed(self.rng, median=6, spread=1.4, most=250)
        log = "\n".join(self.log_line() for _ in range(count))
        command = (
            f"grep {self.it.recall('ticket', 'ENG-1000')} var/log/worker.log | tail -n {count}"
        )
        self.it.call(
            f"What does the log say about {self.a_function()}?", "bash", {"command": command}, log
        )

    def log_line(self) -> str:
        rng = self.rng
        return (
            f"2026-03-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:07Z "
            f"{rng.choice(('INFO', 'WARN', 'ERROR'))} worker-{rng.randint(1, 16)} "
            f"{rng.choice(_VERBS)}_{rng.choice(_NOUNS)} id={rng.getrandbits(32):08x} "
            f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} ms={rng.randint(1, 9000)}"
        )


def coding_session(seed: int, tokens: int) -> list[Message]:
    """Return a session of a coding agent, in chat format."""
    return _Coder(seed, tokens).session()
