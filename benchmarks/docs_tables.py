"""Put the tables of a run into docs/measurements.md.

    python -m benchmarks --full --plot --recorded FOLDER --out RESULTS
    python -m benchmarks.docs_tables RESULTS

A table stands between two comments, `<!-- benchmarks: PART, TITLE -->` and `<!-- /benchmarks -->`;
the title `targets` is the part's figures, the title `run` its command, day and load. Parts that the
run does not have are left as they are, and so is all other text. Pictures go to docs/images.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .suite.report import figures_table, table_lines
from .suite.result import Figure, Table

__all__ = ["main", "marked", "refreshed"]

DOCS = Path(__file__).resolve().parents[1] / "docs"
_MARK = re.compile(
    r"(<!-- benchmarks: (?P<part>[\w-]+), (?P<title>.+?) -->\n).*?(<!-- /benchmarks -->)",
    re.DOTALL,
)


def marked(text: str) -> list[tuple[str, str]]:
    """Return part and title of every marked place."""
    return [(found["part"], found["title"]) for found in _MARK.finditer(text)]


def refreshed(text: str, report: Mapping[str, Any]) -> str:
    """Return a page with the tables of a report.

    Args:
        text: The page.
        report: `benchmarks.json`, read.

    Raises:
        LookupError: The report has the part, and no table of that title, or the part has failed.
    """
    parts = {part["part"]: part for part in report["parts"]}

    def fill(found: re.Match[str]) -> str:
        part = parts.get(found["part"])
        if part is None:
            return found[0]
        return f"{found[1]}\n{_filling(part, found['title'], report)}\n\n{found[4]}"

    return _MARK.sub(fill, text)


def _filling(part: Mapping[str, Any], title: str, report: Mapping[str, Any]) -> str:
    if title == "run":
        facts = report["facts"]
        load = f", load {facts['load'][0]:g} on {facts['cores']} cores" if facts["load"] else ""
        return f"    {_command(report['command'])}\n\n*{facts['date'][:10]}{load}.*"
    if title == "targets":
        fields = Figure.__dataclass_fields__
        figures = [
            Figure(**{name: value for name, value in figure.items() if name in fields})
            for figure in part["figures"]
        ]
        if not figures:
            raise LookupError(f"{part['part']} has no figures: {' '.join(part['notes'])}")
        return "\n".join(table_lines(figures_table(figures)))
    for table in part["tables"]:
        if table["title"].startswith(title):
            return "\n".join(table_lines(Table(**table)))
    titles = [table["title"] for table in part["tables"]]
    raise LookupError(f"{part['part']} has no table {title!r}: {titles}")


def _command(command: str) -> str:
    """Shorten a command to what another reader can run: folders by their last name, no output."""
    words: list[str] = []
    given = iter(shlex.split(command))
    for word in given:
        if word == "--out":
            next(given, None)
        elif not word.startswith("--out="):
            option, equals, value = word.rpartition("=")
            words.append(option + equals + (value.rstrip("/").rpartition("/")[2] or value))
    return shlex.join(words)


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite the page and copy the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path, nargs="+", help="folders that the suite has written")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of measurements.md")
    options = parser.parse_args(arguments)
    page = options.docs / "measurements.md"
    pictures: list[Path] = []
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        parser.error(f"--docs {options.docs}: {error}")
    for folder in options.results:
        file = folder / "benchmarks.json"
        try:
            text = refreshed(text, json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, LookupError, TypeError) as error:
            parser.error(f"{file} is no report that can be used: {error}")
        pictures += folder.glob("*.png")
    if pictures:
        (options.docs / "images").mkdir(exist_ok=True)
    for picture in pictures:
        shutil.copyfile(picture, options.docs / "images" / picture.name)
    page.write_text(text, encoding="utf-8")
    print(f"{page}: {len(marked(text))} tables")


if __name__ == "__main__":
    main()
