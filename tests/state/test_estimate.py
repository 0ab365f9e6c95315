"""The estimate against the real `o200k_base`, and what holds for any text."""

from __future__ import annotations

import base64
import importlib
import json
import random
import uuid
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longthread.state.estimate import estimate_tokens

_RNG = random.Random(3)

TEXTS = {
    "English prose": (
        "We had rented a cottage at the far end of the bay, and the only way to reach it was "
        "on foot along the cliffs. It took most of the afternoon, partly because we kept "
        "stopping to look at the seals and partly because the path had a habit of disappearing "
        "into the heather. By the time we found the key under its flowerpot, the kettle seemed "
        "like the greatest invention in history."
    ),
    "German prose": (
        "In der Zwischenzeit räumte der Lehrling das Lager auf. Er sortierte Schrauben nach "
        "Größe, beschriftete die Schubladen neu und fand dabei eine Rechnung aus dem Jahr "
        "1997, die niemand bezahlt hatte. Der Chef lachte darüber, heftete sie an die Pinnwand "
        "und meinte, man solle den Zettel als Warnung für alle künftigen Buchhalter "
        "aufbewahren. Später stellte sich heraus, dass die Firma, die das Geld bekommen "
        "sollte, seit mehr als zehn Jahren nicht mehr existierte."
    ),
    "French prose": (
        "Aujourd'hui, les choses ont un peu changé : on peut payer par carte, les camionnettes "
        "sont électriques et l'on entend parler anglais près du fromager. Pourtant, "
        "l'essentiel demeure. On y vient autant pour bavarder que pour remplir son panier, et "
        "l'on repart presque toujours avec quelque chose que l'on n'avait pas prévu d'acheter. "
        "Si vous passez par là, goûtez donc la tarte aux abricots : elle disparaît avant onze "
        "heures."
    ),
    "Spanish prose": (
        "A la mañana siguiente descubrimos que la ciudad era mucho más pequeña de lo que "
        "parecía en las fotografías. Recorrimos el barrio antiguo en menos de una hora, "
        "visitamos el museo, que sólo tiene tres salas, y comimos en un restaurante donde la "
        "dueña elegía el menú según la cara de cada cliente. A mí me tocó sopa de pescado, a "
        "él un guiso de lentejas, y los dos salimos convencidos de que había acertado."
    ),
    "Russian prose": (
        "Утром дождь кончился, и на ступенях библиотеки уже ждали первые посетители: студенты, "
        "пенсионеры и мальчик, который хотел узнать, почему корабли не тонут. Сторож показал "
        "ему полку с книгами о море и разрешил читать столько, сколько захочется. "
        "Однажды за билетом пришла женщина, которая рассказала, что тогда, много лет назад, "
        "она передумала уезжать и осталась. Она долго рассматривала пожелтевшую бумагу, потом "
        "улыбнулась и попросила сторожа хранить её дальше. «Пусть лежит у вас, — сказала она, "
        "— так мне спокойнее». Он согласился, записал её имя в журнал и поставил чайник, "
        "потому что на улице начинался сильный дождь."
    ),
    "Chinese prose": (
        "我们借了几本关于地方历史的书，又在一楼的咖啡厅坐了很久。同事说，他小时候就住在附近，当"
        "年每天早上都能听到工厂的汽笛声。现在机器已经不见了，但是墙上还挂着工人们的照片，下面写"
        "着他们的名字和工作的年份。离开的时候天已经黑了，我们决定下个月再来一次，把没有看完的展"
        "览看完。"
    ),
    "Japanese prose": (
        "昼ごはんのあと、祖父は押し入れから古いアルバムを出して見せてくれました。そこには、若い"
        "ころに働いていた工場や、仲間と登った山の写真がたくさん並んでいました。「この人はもうい"
        "ないけれど、笑い声だけはよく覚えているよ」と祖父は言いました。帰りぎわに、野菜を持ちき"
        "れないほど持たせてくれて、来月も必ず来るようにと何度も念を押されました。"
    ),
    "Korean prose": (
        "식사를 마친 뒤에는 강을 따라 천천히 걸으면서 요즘 하고 있는 일에 대해 이야기를 "
        "나누었습니다. 누군가는 새로운 일을 시작하고 싶다고 했고, 또 누군가는 지금 맡은 일을 "
        "끝까지 해 보고 싶다고 했습니다. 생각은 서로 달랐지만, 이렇게 함께 걸을 수 있는 "
        "사람이 있다는 것만으로도 충분히 고마운 저녁이었습니다."
    ),
    "Python": """\
class RateLimiter:
    \"\"\"Allows at most `limit` calls in any window of `seconds`.\"\"\"

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._calls: deque[float] = deque()

    def allow(self) -> bool:
        now = self._clock()
        while self._calls and now - self._calls[0] >= self._seconds:
            self._calls.popleft()
        if len(self._calls) >= self._limit:
            return False
        self._calls.append(now)
        return True
""",
    "TypeScript": """\
export async function loadOrders(userId: string, since?: Date): Promise<Order[]> {
  const query = new URLSearchParams({ userId, limit: "100" });
  if (since !== undefined) query.set("since", since.toISOString());
  const response = await fetch(`${API_BASE}/orders?${query}`, { headers: authHeaders() });
  if (!response.ok) {
    throw new HttpError(response.status, await response.text());
  }
  const body = (await response.json()) as { orders: Order[] };
  return body.orders.filter((order) => order.state !== "cancelled");
}
""",
    "JSON": json.dumps(
        [
            {
                "reservation_id": f"RX{_RNG.randint(100, 999)}",
                "user": {"first_name": "Marta", "last_name": "Olsen", "membership": "gold"},
                "flights": [{"number": f"LH{_RNG.randint(1000, 9999)}", "price": 184.5}],
                "created_at": f"2025-0{_RNG.randint(1, 9)}-14T08:15:00Z",
                "insurance": None,
            }
            for _ in range(12)
        ]
    ),
    "diff": """\
diff --git a/src/cache.py b/src/cache.py
index 3f1c2ab..9d04e77 100644
--- a/src/cache.py
+++ b/src/cache.py
@@ -41,9 +41,12 @@ class Cache:
     def get(self, key: str) -> bytes | None:
-        entry = self._entries.get(key)
-        if entry is None:
+        with self._lock:
+            entry = self._entries.get(key)
+        if entry is None or entry.expired(self._clock()):
+            self.misses += 1
             return None
         return entry.value
""",
    "stack trace": """\
Traceback (most recent call last):
  File "/srv/app/worker/main.py", line 88, in run_once
    result = self.handlers[job.kind](job.payload)
  File "/srv/app/worker/handlers/email.py", line 31, in send
    smtp.sendmail(SENDER, [payload["to"]], message.as_string())
KeyError: 'to'

During handling of the above exception, another exception occurred:

  File "/srv/app/worker/main.py", line 95, in run_once
    raise JobFailed(job.id, attempts=job.attempts) from error
worker.errors.JobFailed: job 48213 failed after 3 attempts
""",
    "file listing": """\
drwxr-xr-x  5 dev  staff    160 Mar  4 09:12 .
-rw-r--r--  1 dev  staff   1068 Jan 17 11:40 LICENSE
-rw-r--r--  1 dev  staff   4213 Mar  4 09:10 README.md
-rw-r--r--  1 dev  staff  18554 Mar  3 16:55 src/report/builder.py
-rw-r--r--  1 dev  staff    911 Feb 27 10:02 src/report/__init__.py
-rwxr-xr-x  1 dev  staff   2207 Feb 11 14:31 scripts/release.sh
""",
    "base64": base64.b64encode(_RNG.randbytes(3_000)).decode(),
    "hex": _RNG.randbytes(1_500).hex(),
    "UUIDs": "\n".join(str(uuid.UUID(int=_RNG.getrandbits(128), version=4)) for _ in range(40)),
    "number table": "\n".join(
        " | ".join(f"{_RNG.uniform(-500, 500):9.2f}" for _ in range(6)) for _ in range(40)
    ),
    "emoji": "Build 🚀 passed ✅ but docs ❌ failed 😅 fixing now 🔧 thanks 🙏😀 🎉🎉\n" * 5,
}


@pytest.fixture(scope="module")
def count_exactly() -> Callable[[str], int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised by its own import
        bpe_openai = importlib.import_module("bpe_openai")
    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    return lambda text: len(encode(text))


@pytest.mark.parametrize("kind", TEXTS)
def test_the_estimate_is_within_ten_percent(kind: str, count_exactly: Callable[[str], int]) -> None:
    true = count_exactly(TEXTS[kind])
    assert estimate_tokens(TEXTS[kind]) == pytest.approx(true, rel=0.10)


def test_a_conversation_of_all_kinds_is_within_three_percent(
    count_exactly: Callable[[str], int],
) -> None:
    whole = "\n\n".join(TEXTS.values())
    assert estimate_tokens(whole) == pytest.approx(count_exactly(whole), rel=0.03)


def test_the_empty_text_takes_nothing_and_any_other_something() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1
    assert estimate_tokens("\ufe0f") == 1


def test_an_ideograph_is_about_one_token_and_a_rare_one_more() -> None:
    assert 0.4 <= estimate_tokens("的一是不了人我在有他" * 100) / 1_000 <= 1.0
    assert estimate_tokens("龘靐齉" * 100) > estimate_tokens("的一是" * 100)


@pytest.mark.parametrize(
    "run", ["a", "A", "aB", " ", "\n", " \n", "=", "_", "9", "中", "😀", "\u0301", "\x00", "\ud800"]
)
def test_a_long_run_is_neither_slow_nor_free(run: str) -> None:
    text = run * (200_000 // len(run))
    assert 0 < estimate_tokens(text) <= len(text)
    assert estimate_tokens(text) > 1.9 * estimate_tokens(text[: len(text) // 2])


def test_a_slice_border_changes_nothing_that_matters() -> None:
    line = "The 2nd line costs $14.50, déjà vu – это всё.\n"
    assert estimate_tokens(line * 5_000) == pytest.approx(5_000 * estimate_tokens(line), rel=0.03)


@settings(deadline=None)
@given(st.text(st.characters()))  # surrogates included
def test_any_text_has_an_estimate(text: str) -> None:
    estimate = estimate_tokens(text)
    assert 0 <= estimate <= 4 * len(text)
    assert (estimate == 0) == (text == "")


@settings(deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.sampled_from(sorted(TEXTS)), st.data())
def test_estimates_add_up(first: str, second: str, data: st.DataObject) -> None:
    a = TEXTS[first][: data.draw(st.integers(0, len(TEXTS[first])))]
    b = TEXTS[second][data.draw(st.integers(0, len(TEXTS[second]))) :]
    assert abs(estimate_tokens(a + b) - estimate_tokens(a) - estimate_tokens(b)) <= 5


@settings(deadline=None)
@given(st.text(), st.text())
def test_estimates_of_any_texts_nearly_add_up(a: str, b: str) -> None:
    joined, apart = estimate_tokens(a + b), estimate_tokens(a) + estimate_tokens(b)
    assert abs(joined - apart) <= 12


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters()))
def test_more_text_is_hardly_ever_fewer_tokens(a: str, b: str) -> None:
    assert estimate_tokens(a + b) >= estimate_tokens(a) - 5
