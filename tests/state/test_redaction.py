"""Secrets are taken out, all else stays, and a redactor that fails lets nothing through."""

from __future__ import annotations

import json
import re
import traceback
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from longthread import LongthreadError, redact_secrets
from longthread.state.redaction import RedactionError, redacted
from longthread.state.secret_patterns import TOKENS, SecretPattern
from longthread.state.transcript import transcript, without_secrets

# Put together here, so that no scanner takes this file for a leak.
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP"
KEY = (
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE KEY-----"
)
SECRETS = {
    "AKIA" + "IOSFODNN7EXAMPLE": "an AWS key id",
    "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a": "a GitHub token",
    "github" + "_pat_11ABCDEFG0_abcdefghijklmnopqrstuv": "a GitHub token",
    "glpat" + "-ABCdef0123456789abcd": "a GitLab token",
    "xoxb" + "-123456789012-abcdefghijkl": "a Slack token",
    "sk-proj" + "-Ab1_Cd2-Ef3Gh4Ij5Kl6Mn7": "an OpenAI key",
    "sk" + "-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8": "an OpenAI key of the old kind",
    "sk-ant" + "-api03-abc_DEF-123456789012": "an Anthropic key",
    "AIza" + "SyD-1234567890abcdefghijklmnopqrstu": "a Google key",
    "sk_live" + "_4eC39HqLyjWDarjtT1zdp7dc": "a Stripe key",
    "hf" + "_AbCdEfGhIjKlMnOpQrStUvWxYz01234567": "a Hugging Face token",
    "npm" + "_abcdefghijklmnopqrstuvwxyz0123456789": "an npm token",
    "SG." + "abcdefghij0123456789.abcdefghij0123456789abcdefghij": "a SendGrid key",
    "110201543:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1": "a Telegram token",
    "hvs." + "CAESIJabcdefghijklmnop": "a Vault token",
    JWT: "a JSON web token",
    KEY: "a private key",
    KEY.replace("\n", "\\n"): "a private key in JSON",
    KEY[:60]: "the beginning of a private key",
}


@pytest.mark.parametrize("secret", SECRETS, ids=SECRETS.values())
@pytest.mark.parametrize("around", ["{}", "It is {}, she said.", '{{"a": "{}"}}', "x={}\n", "({})"])
def test_tokens_with_a_prefix_go_wherever_they_stand(secret: str, around: str) -> None:
    clean = redact_secrets(around.format(secret))
    assert secret not in clean
    assert "[redacted: " in clean
    before, after = around.format("\0").split("\0")
    assert clean.startswith(before)
    assert clean.endswith(after)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=hunter2!", "password=[redacted: password]"),
        ("DB_PASSWORD: hunter2", "DB_PASSWORD: [redacted: password]"),
        ("'passwd': 'hunter two'", "'passwd': '[redacted: password]'"),
        ('{"password": "hun\\"ter2", "a": 1}', '{"password": "[redacted: password]", "a": 1}'),
        ('{\\"api_key\\": \\"abc123\\"}', '{\\"api_key\\": \\"[redacted: token]\\"}'),
        ("postgres://kim:p@ss@db:5432/x", "postgres://kim:[redacted: password]@db:5432/x"),
        ("redis://:s3cret@host/0", "redis://:[redacted: password]@host/0"),
        ("Authorization: Bearer abcdef123", "Authorization: Bearer [redacted: credentials]"),
        ('"authorization": "Basic a2ltOnB3"', '"authorization": "Basic [redacted: credentials]"'),
        ("The password is Tr0ub4dor&3, ok?", "The password is [redacted: password], ok?"),
        ("the passphrase was 'correct horse'", "the passphrase was '[redacted: password]'"),
        ("?access_token=abc123def456&x=1", "?access_token=[redacted: token]&x=1"),
        ("export MY_TOKEN=abc12345678", "export MY_TOKEN=[redacted: token]"),
        ("aws_secret_access_key = wJal/K7MDENG", "aws_secret_access_key = [redacted: password]"),
        ("curl -u kim:pw12 https://x", "curl -u kim:[redacted: password] https://x"),
        ("mysql --password hunter2 -h x", "mysql --password [redacted: password] -h x"),
        ("AccountKey=Zm9vYmFyYmF6Zm9vYmFy==;", "AccountKey=[redacted: account key];"),
        ("Passwort: geheim12", "Passwort: [redacted: password]"),
        ("SMTP_PASS=hun.ter.2 ok", "SMTP_PASS=[redacted: password] ok"),
        ("?sv=1&sig=ab%2Fcd.ef12345678%3D&se=2", "?sv=1&sig=[redacted: signature]&se=2"),
        ("?X-Amz-Signature=0123456789abcdef01", "?X-Amz-Signature=[redacted: signature]"),
    ],
)
def test_what_is_called_a_secret_goes_and_its_name_stays(text: str, clean: str) -> None:
    assert redact_secrets(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        *("max_tokens=4096", "input_tokens: 120000000", "password=None", "password: see the wiki"),
        *(
            "secret = get_secret()",
            "api_key=os.environ['KEY']",
            "password: ${DB_PASS}",
            "token: 12",
            "first_pass = run_once",
            "?sig=f(x)&design=abcdefghijklmnopq1",
        ),
        *(
            "token: Optional[str]",
            "password: str = 1",
            "the secret: never give up",
            "secretary: k99",
        ),
        *("https://example.com:8080/a@b", "sk-learn-is-a-long-package-name", "author: kim1234567"),
        *("primary_key: id12345678", "The password is reset every year", "password_hash: x1y2z3"),
        *(
            "bearer of bad news",
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "eyJ is how it is",
        ),
        *("The tokenizer reads 1,000 tokens.", "git@github.com:kim/repo.git", "uuid 6b1f8c9e-1c2d"),
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
        "secret: https://vault.example/kv/7",
    ],
)
def test_what_is_no_secret_stays_byte_for_byte(text: str) -> None:
    assert redact_secrets(text) == text


parts = st.sampled_from(
    [
        *SECRETS,
        "password=",
        "token: ",
        "://u:",
        "@h",
        " is ",
        '"',
        "'",
        "\\",
        "\n",
        " ",
        "x1y2",
        "=",
    ]
)


@given(st.lists(parts | st.text(max_size=5), max_size=8).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact_secrets(text)
    assert redact_secrets(once) == once
    once.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("pattern", TOKENS[1:], ids=lambda pattern: pattern[0])
@settings(
    max_examples=20, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(data=st.data())
def test_what_a_pattern_finds_has_one_of_its_literals(
    pattern: SecretPattern, data: st.DataObject
) -> None:
    _, literals, compiled = pattern
    plain = re.sub(
        r"\(\?<?[=!][^()]*\)", "", compiled.pattern
    )  # what looks around, generates nothing
    text = data.draw(st.from_regex(re.compile(plain, compiled.flags), fullmatch=True))
    if compiled.search(text):
        assert any(literal in text for literal in literals)
        assert "[redacted: " in redact_secrets(text)


def test_a_secret_goes_from_every_part_of_a_message() -> None:
    secret = next(iter(SECRETS))
    image: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    call = {"name": "f", "args": {"deep": [{"password": "hunter2"}, secret]}, "id": "1"}
    wrong = {"name": "g", "args": secret, "id": "2", "error": None, "type": "invalid_tool_call"}
    message = AIMessage(
        [{"type": "text", "text": f"a {secret}"}, image],
        tool_calls=[call],
        invalid_tool_calls=[wrong],
    )
    clean = without_secrets(message, redact_secrets)
    assert secret not in str(clean)
    assert clean.content[1] == image
    assert secret in str(message)  # the journal's own is untouched
    shown = transcript(message, redact=redact_secrets)
    assert secret not in shown
    assert "hunter2" not in shown
    assert "[attachment: image_url]" in shown
    assert without_secrets(message, None) is message


def test_a_secret_goes_before_a_text_is_cut_short() -> None:
    secret = next(iter(SECRETS))
    text = "x" * 90 + f" {secret} " + "y" * 500  # the cut would leave half of it
    message = ToolMessage(text, tool_call_id="1", name="f")
    for shown in (
        transcript(message, result_chars=200, redact=redact_secrets),
        transcript(message, result_chars=210, redact=redact_secrets),
    ):
        assert "AKIA" not in shown


def _raises(text: str) -> str:
    raise ValueError("out of order")


def _repeats_it(text: str) -> str:
    raise ValueError(f"cannot look at {text}")


def _returns_nothing(text: str) -> Any:
    return None


@pytest.mark.parametrize("redact", [_raises, _repeats_it, _returns_nothing])
def test_a_redactor_that_fails_lets_nothing_through(redact: Any) -> None:
    text = " ".join(["a", "secret", "text"])
    with pytest.raises(RedactionError, match=f"redact={redact.__name__}") as caught:
        redacted(redact, text)
    assert isinstance(caught.value, LongthreadError)
    assert caught.value.code == "REDACTION_FAILED"
    assert "secret text" not in str(caught.value)
    assert "secret text" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(RedactionError):
        transcript(HumanMessage(text), redact=redact)


def test_nothing_is_changed_without_a_redactor() -> None:
    assert redacted(None, json.dumps({"password": "hunter2"})) == '{"password": "hunter2"}'
