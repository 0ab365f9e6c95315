"""An invented research session: long documents are read, and cited much later."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from .session_recorder import Message, Recorder, heavy_tailed, words

__all__ = ["research_session"]

_SYSTEM = """\
You are a research agent. You answer questions from sources that you have read yourself.
- Search, open what looks relevant, read it, follow its references. Prefer primary sources.
- Write down after each document what matters, with its id and the exact figures.
- Every claim in a report carries the id of its source in square brackets. Never cite what \
you have not opened.
- Sources that disagree are both reported. Say what you could not find.
- Write a report section by section with `write_section`, then answer with a short summary.
"""
_FIELDS = words("soil aquifer reef glacier estuary lichen pollen canopy delta sediment peat algae")
_MEASURES = words("uptake turnover salinity albedo recharge yield drift density respiration flux")
_DOING = words("raises lowers limits delays doubles masks tracks precedes explains stabilises")
_WORDS = words(
    "in most plots over the second season with a lag of about two years although the sample "
    "was small and the sensors had been moved which later surveys confirm at higher sites"
)
_AUTHORS = words("Okafor Lindqvist Tanaka Moreau Petrov Alvarez Nkemelu Rossi Haugen Castellanos")


@dataclass(frozen=True, slots=True)
class _Document:
    key: str
    title: str
    facts: tuple[str, ...]
    text: str


class _Library:
    """Documents with ids, figures and references to each other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.keys = [self._key() for _ in range(400)]
        self.documents: dict[str, _Document] = {}

    def _key(self) -> str:
        rng = self.rng
        return rng.choice(
            (
                f"arXiv:{rng.randint(15, 26)}{rng.randint(1, 12):02}.{rng.randint(10_000, 19_999)}",
                f"doi:10.{rng.randint(1000, 9999)}/{rng.choice(_FIELDS)}.{rng.getrandbits(24):06x}",
                f"{rng.choice(_AUTHORS).lower()}{rng.randint(2005, 2025)}{rng.choice(_FIELDS)}",
            )
        )

    def open(self, key: str) -> _Document:
        if key not in self.documents:
            self.documents[key] = self._document(key)
        return self.documents[key]

    def _document(self, key: str) -> _Document:
        rng = self.rng
        title = f"How {rng.choice(_FIELDS)} {rng.choice(_MEASURES)} {rng.choice(_DOING)} yield"
        facts = tuple(self._figure() for _ in range(rng.randint(3, 9)))
        size = heavy_tailed(rng, median=9, spread=1.1, most=90)
        paragraphs = [self.paragraph() for _ in range(size)]
        for fact in facts:
            at = rng.randrange(len(paragraphs))
            paragraphs[at] += f" The value in {fact} was {rng.uniform(0, 90):.2f}."
        cited = ", ".join(rng.sample(self.keys, 5))
        text = "\n\n".join((f"# {title}", *paragraphs, f"References: {cited}"))
        return _Document(key, title, facts, text)

    def _figure(self) -> str:
        rng = self.rng
        return f"{rng.choice(_MEASURES)}_{rng.choice(_FIELDS)}_{rng.randint(1990, 2025)}"

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self.rng.randint(4, 9)))

    def sentence(self) -> str:
        rng = self.rng
        middle = " ".join(rng.choices(_WORDS, k=rng.randint(4, 14)))
        return (
            f"The {rng.choice(_FIELDS)} {rng.choice(_MEASURES)} {rng.choice(_DOING)} the "
            f"{rng.choice(_FIELDS)} {rng.choice(_MEASURES)} {middle}."
        )


class _Researcher:
    """The agent and its tools."""

    def __init__(self, seed: int, tokens: int) -> None:
        self.it = Recorder(f"research-{seed}", tokens)
        self.rng = self.it.rng
        self.library = _Library(self.rng)

    def session(self) -> list[Message]:
        self.it.system(_SYSTEM)
        while not self.it.full:
            self.question()
        return self.it.messages

    def question(self) -> None:
        """One question of the human: reading, then writing."""
        it, rng = self.it, self.rng
        it.human(
            f"What is known about {rng.choice(_FIELDS)} {rng.choice(_MEASURES)} and how it "
            f"{rng.choice(_DOING)} {rng.choice(_FIELDS)} {rng.choice(_MEASURES)}? Write a report."
        )
        self.search()
        for _ in range(heavy_tailed(rng, median=9, spread=0.5, most=30)):
            rng.choices((self.search, self.read, self.quote), (25, 55, 20))[0]()
            if it.full:
                return
        for _ in range(rng.randint(2, 5)):
            self.write()
        it.say(f"The report is written. It rests on {self.source()} and {self.source()} above all.")

    def search(self) -> None:
        count = heavy_tailed(self.rng, median=8, spread=0.5, most=30)
        keys = self.rng.sample(self.library.keys, count)
        hits = [{"id": key, "snippet": self.library.sentence()} for key in keys]
        query = f"{self.rng.choice(_FIELDS)} {self.rng.choice(_MEASURES)}"
        self.it.call(f"Search for {query}.", "search", {"query": query}, json.dumps(hits))
        self.it.show("hit", keys)

    def read(self) -> None:
        """Open something that was found; half of the time, note what it says."""
        key = self.it.recall("hit", self.rng.choice(self.library.keys))
        if key in self.library.documents:
            self.search()
            return
        document = self.library.open(key)
        self.it.call(f"{key} looks relevant.", "open_document", {"id": key}, document.text)
        self.it.show("source", [key])
        self.it.show("fact", document.facts)
        if self.rng.random() < 0.5:
            kept = ", ".join(document.facts[:3])
            note = {"source": key, "note": f"{document.title}: {kept}. {self.library.sentence()}"}
            self.it.call("Note what matters.", "take_note", note, "noted")

    def quote(self) -> None:
        """Look something up again in a source that was read before."""
        if not self.library.documents:
            self.read()
            return
        key, fact = self.source(), self.fact()
        lines = [self.library.sentence() for _ in range(self.rng.randint(1, 6))]
        text = f"{key}: {fact}\n" + "\n".join(lines)
        arguments = {"id": key, "text": fact}
        self.it.call(f"What does {key} say about {fact}?", "find_in_document", arguments, text)

    def write(self) -> None:
        sentences = []
        for _ in range(heavy_tailed(self.rng, median=6, spread=0.6, most=25)):
            claim = self.library.sentence().removesuffix(".")
            sentences.append(f"{claim} ({self.fact()}) [{self.source()}].")
        section = {"title": self.library.sentence(), "text": " ".join(sentences)}
        self.it.call("Write the next section.", "write_section", section, "saved")

    def source(self) -> str:
        if self.rng.random() < 0.1:
            return self.it.earliest("source", self.library.keys[0])
        return self.it.recall("source", self.library.keys[0])

    def fact(self) -> str:
        return self.it.recall("fact", "yield_soil_2001")


def research_session(seed: int, tokens: int) -> list[Message]:
    """Return a session of a research agent, in chat format."""
    return _Researcher(seed, tokens).session()
