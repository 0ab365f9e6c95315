"""How far the token estimate is from `o200k_base`, kind of text by kind of text.

Run `python -m benchmarks.token_counting` from the root of the repository. All text is made here or
found in the running Python's own standard library; nothing is downloaded. The true counts need
tiktoken's vocabulary in its cache, or `pip install bpe-openai`.
"""

from __future__ import annotations

import ast
import base64
import difflib
import inspect
import io
import json
import random
import sys
import timeit
import traceback
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from longthread.state.estimate import estimate_tokens
from longthread.state.tokenizer import Tokenizer, load_tokenizer

__all__ = ["main", "samples"]

PROSE = {
    "English": (
        "The ferry was already twenty minutes late when the fog began to lift and the island came "
        "slowly into view. A handful of passengers had gathered at the railing, mostly locals on "
        "their way home from the market, with bags of oranges and a goat that nobody seemed to "
        "own. The captain leaned out of his window, shouted something cheerful that the wind "
        "carried away, and brought the boat alongside the quay with a gentle bump."
    ),
    "German": (
        "Am Montagmorgen stellte die Werkstatt fest, dass die bestellten Ersatzteile noch immer "
        "nicht eingetroffen waren. Der Meister rief den Lieferanten an und erfuhr, dass der "
        "Lastwagen wegen einer gesperrten Brücke einen Umweg von fast zweihundert Kilometern "
        "fahren musste. „Wenn alles gut geht, sind wir morgen Nachmittag bei Ihnen“, versprach die "
        "Dame am Telefon. Bis dahin blieb nichts anderes übrig, als die Kunden zu vertrösten und "
        "die übrigen Fahrzeuge vorzuziehen."
    ),
    "French": (
        "Le marché du village se tient chaque jeudi sur la place de l'église, quel que soit le "
        "temps. Les producteurs arrivent avant l'aube, déchargent leurs caisses de légumes et "
        "s'installent toujours au même endroit, comme si la moindre nouveauté risquait de fâcher "
        "les habitués. Ma grand-mère achetait ses œufs à une vieille dame qui n'acceptait que les "
        "pièces et refusait obstinément de rendre la monnaie sur les billets."
    ),
    "Spanish": (
        "Cuando el tren llegó por fin a la estación, ya había anochecido y nadie nos esperaba en "
        "el andén. Mi hermano sacó el mapa, lo miró al derecho y al revés, y reconoció que no "
        "tenía la menor idea de dónde quedaba la pensión. Preguntamos a un señor que paseaba a su "
        "perro; nos explicó el camino con tanta paciencia que acabamos tomando un café con él "
        "antes de seguir."
    ),
    "Russian": (
        "Осенью в нашем городе рано темнеет, и по вечерам улицы кажутся совсем пустыми. Старый "
        "сторож библиотеки каждый день в шесть часов обходит читальный зал, закрывает окна и "
        "проверяет, не забыл ли кто-нибудь зонт или очки. За двадцать лет работы он собрал целую "
        "коллекцию потерянных вещей: перчатки, тетради, шахматную фигурку и даже билет на поезд, "
        "которым никто не воспользовался."
    ),
    "Chinese": (
        "昨天下午，我和同事一起去参观了城西新开的图书馆。那里的环境非常安静，靠窗的位置可以看到整条"
        "河。管理员告诉我们，这座建筑原来是一家纺织厂，改造的时候保留了大部分的砖墙和木梁，所以走在"
        "里面总有一种时间变慢的感觉。二楼专门为孩子们准备了阅读角，周末还会请作家来讲故事。"
    ),
    "Japanese": (
        "先週の土曜日、久しぶりに祖父の家を訪ねました。駅から歩いて二十分ほどの静かな住宅街にあり、"
        "庭には大きな柿の木が立っています。祖父は八十五歳になりますが、今でも毎朝五時に起きて、畑の"
        "世話をしているそうです。私が着いたときも、麦わら帽子をかぶってトマトに水をやっていました。"
    ),
    "Korean": (
        "지난주 금요일에 회사 동료들과 함께 강가에 있는 작은 식당에 다녀왔습니다. 예약을 하지 "
        "않아서 삼십 분 정도 기다려야 했지만, 창밖으로 보이는 풍경이 아름다워서 지루하지 "
        "않았습니다. 주인 아주머니는 손님이 많은데도 한 사람 한 사람에게 친절하게 음식을 설명해 "
        "주셨고, 반찬이 떨어지면 말하지 않아도 다시 채워 주셨습니다."
    ),
}

TYPESCRIPT = """\
import { useEffect, useState } from "react";
import type { Ticket, TicketFilter } from "../api/types";

interface TicketListProps {
  filter: TicketFilter;
  pageSize?: number;
  onSelect: (ticket: Ticket) => void;
}

export function TicketList({ filter, pageSize = 25, onSelect }: TicketListProps): JSX.Element {
  const [tickets, setTickets] = useState<Ticket[]>([]);

  useEffect(() => {
    const controller = new AbortController();
    fetchTickets(filter, { limit: pageSize, signal: controller.signal })
      .then((page) => setTickets(page.items.filter((item) => !item.archivedAt)))
      .catch((reason: unknown) => console.error(String(reason)));
    return () => controller.abort();
  }, [filter, pageSize]);

  return (
    <ul>{tickets.map((t) => <li key={t.id} onClick={() => onSelect(t)}>{t.title}</li>)}</ul>
  );
}
"""

C = """\
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ring_buffer {
    unsigned char *data;
    size_t capacity, head, length;
};

/* Returns 0 on success, -ENOSPC if the bytes do not fit. Never writes a part of them. */
int ring_buffer_write(struct ring_buffer *rb, const void *src, size_t n)
{
    const unsigned char *bytes = src;
    size_t tail, first;

    if (rb == NULL || (src == NULL && n > 0))
        return -EINVAL;
    if (n > rb->capacity - rb->length)
        return -ENOSPC;
    tail = (rb->head + rb->length) % rb->capacity;
    first = rb->capacity - tail < n ? rb->capacity - tail : n;
    memcpy(rb->data + tail, bytes, first);
    if (n > first)
        memcpy(rb->data, bytes + first, n - first);
    rb->length += n;
    return 0;
}
"""

YAML = """\
services:
  api:
    image: registry.example.com/shop/api:2.14.3
    restart: unless-stopped
    environment:
      DATABASE_URL: postgres://shop:${DB_PASSWORD}@db:5432/shop
      LOG_LEVEL: info
    ports: ["8080:8080"]
    depends_on:
      db: {condition: service_healthy}
  db:
    image: postgres:16-alpine
    volumes:
      - db-data:/var/lib/postgresql/data
"""

SHELL = """\
$ git status --short
 M src/billing/invoice.py
?? tests/test_rounding.py
$ df -h /
Filesystem      Size  Used Avail Use% Mounted on
/dev/nvme0n1p2  468G  291G  154G  66% /
$ pytest -q
..........F...............................                               [100%]
=================================== FAILURES ===================================
______________________________ test_rounds_half_up ______________________________
    def test_rounds_half_up():
>       assert round_cents(Decimal("2.675")) == Decimal("2.68")
E       AssertionError: assert Decimal('2.67') == Decimal('2.68')
tests/test_rounding.py:14: AssertionError
1 failed, 41 passed in 3.72s
"""

EMOJI = "Deploy done 🚀 all green ✅✅ one flaky test 🤔 celebrate later 🎉🎉 Thanks! 🙏😀\n"


def samples() -> dict[str, str]:
    """Kind of text to a text of that kind; the same in every run of one Python version."""
    rng = random.Random(14)
    sources = {module.__name__: inspect.getsource(module) for module in (json, ast, difflib)}
    words = sorted({word for word in sources["ast"].split() if word.isalpha()})
    records = [
        {
            "id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "title": " ".join(rng.sample(words, 4)),
            "created_at": f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T09:30:00Z",
            "price": round(rng.uniform(1, 900), 2),
            "tags": rng.sample(words, 3),
            "active": rng.random() < 0.5,
        }
        for _ in range(40)
    ]
    before = sources["difflib"].splitlines(keepends=True)
    after = [line.replace("self", "this").replace("None", "null") for line in before]
    return {
        "English documentation": _documentation(),
        **{f"{language} prose": text for language, text in PROSE.items()},
        "Python": sources["difflib"],
        "TypeScript": TYPESCRIPT,
        "C": C,
        "JSON": json.dumps(records),
        "JSON, indented": json.dumps(records, indent=2),
        "YAML": YAML,
        "shell output": SHELL,
        "diff": "".join(difflib.unified_diff(before[:300], after[:300], "a/diff.py", "b/diff.py")),
        "stack traces": _stack_traces(),
        "file listing": "\n".join(sorted(map(str, Path(json.__file__).parents[1].glob("*/*.py")))),
        "log": "".join(
            f"2026-03-{rng.randint(1, 28):02} 10:{rng.randint(10, 59)}:07,{rng.randint(100, 999)} "
            f"{rng.choice(['INFO', 'WARNING'])} {rng.choice(words)}: "
            f"{' '.join(rng.sample(words, 5))} took {rng.randint(1, 9999)} ms\n"
            for _ in range(60)
        ),
        "base64": base64.b64encode(rng.randbytes(6_000)).decode(),
        "hex": rng.randbytes(3_000).hex(),
        "UUIDs": "\n".join(str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(80)),
        "number table": "\n".join(
            " | ".join(f"{rng.gauss(0, 100):10.3f}" for _ in range(6)) for _ in range(60)
        ),
        "CSV": "\n".join(
            f"{n},{rng.choice(words)},{rng.randint(1, 10**6)},{rng.random():.6f}"
            for n in range(150)
        ),
        "emoji": EMOJI * 10,
    }


def _documentation() -> str:
    """The docstrings of some modules, which are prose with a little code in it."""
    modules = (inspect, io, ast, difflib, random, traceback, uuid, base64)
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    found = (
        ast.get_docstring(node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    )
    return "\n\n".join(text for text in found if text and len(text) > 200)


def _stack_traces() -> str:
    failures: list[Callable[[], object]] = [
        lambda: json.loads('{"a": nope}'),
        lambda: ast.parse("def f(:"),
        lambda: uuid.UUID("not-a-uuid"),
        lambda: base64.b64decode("a"),
        lambda: io.open("/no/such/folder/file.txt"),  # noqa: SIM115, UP020
    ]
    traces = []
    for fail in failures:
        try:
            fail()
        except Exception:
            traces.append(traceback.format_exc())
    return "\n".join(traces)


def langchain_estimate(text: str) -> int:
    """langchain-core's estimate, without its flat cost per message."""
    return count_tokens_approximately([HumanMessage(text)], extra_tokens_per_message=0.0) - 1


def main() -> int:
    """Print the table; 1 if there is nothing to compare with."""
    tokenizer: Tokenizer = load_tokenizer()
    if tokenizer.name == "estimate":
        print("Nothing to compare with: install bpe-openai or fill tiktoken's cache.")
        return 1
    print(f"true counts: {tokenizer.name}\n")
    print(
        f"{'kind':24}{'chars':>8}{'tokens':>8}{'estimate':>10}{'error':>9}{'langchain':>11}{'error':>9}"
    )
    for kind, text in samples().items():
        true, estimate, other = (
            tokenizer.count(text),
            estimate_tokens(text),
            langchain_estimate(text),
        )
        print(
            f"{kind:24}{len(text):8}{true:8}{estimate:10}{estimate / true - 1:+9.1%}"
            f"{other:11}{other / true - 1:+9.1%}"
        )
    megabyte = ("\n".join(samples().values()) * 4)[:1_000_000]
    print("\nseconds per million characters of all of the above, best of three")
    for name, count in ((tokenizer.name, tokenizer.count), ("estimate", estimate_tokens)):
        best = min(timeit.repeat(partial(count, megabyte), number=1, repeat=3))
        print(f"{name:24}{best:8.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
