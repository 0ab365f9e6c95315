"""What secrets look like.

`TOKENS` are recognised by themselves: issuers give their tokens a prefix for exactly that. `PLACES`
are recognised by what stands before them (`password=…`, `Authorization: …`, `scheme://user:…@`);
there the one group that takes part in the match is what goes, and the rest stays.

Every pattern begins with something literal or rare and has no nested repetition, so that the time
it takes grows with the length of a text, whatever is in it. Most texts hold none of a pattern's
literals, and finding that out is a hundred times as fast as trying the pattern.
"""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ["PLACES", "TOKENS", "SecretPattern"]

SecretPattern: TypeAlias = tuple[str, tuple[str, ...], re.Pattern[str]]
"""What it finds, literals of which one is in every text that has one, and the pattern."""

# What it is, its literals, and the token itself: `{n,}` is a little below the issuer's own length.
_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{16,}"),
    ("OpenRouter key", "sk-or-", r"sk-or-[\w-]{16,}"),
    ("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[\w-]{16,}"),
    ("API key", "sk-", r"sk-(?:[a-z]{2,8}-)?(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}"),
    ("GitHub token", "gh github_pat_", r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    ("GitLab token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w-]{20,}"),
    ("Slack token", "xox xapp-", r"(?:xox[abceoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})"),
    (
        "Google key",
        "AIza GOCSPX- ya29. 1//0",
        r"(?:AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,})",
    ),
    (
        "Stripe key",
        "k_live_ k_test_ whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
    ),
    ("JSON web token", "eyJ", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]+){0,2}"),
    ("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{30,}"),
    ("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    ("NVIDIA key", "nvapi-", r"nvapi-[\w-]{30,}"),
    ("Tavily key", "tvly-", r"tvly-[\w-]{16,}"),
    ("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{20,}_[a-f0-9]+"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-A", r"pypi-A[\w-]{40,}"),
    ("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    ("Docker token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("SendGrid key", "SG.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("Mailgun key", "key-", r"key-[a-f0-9]{32}"),
    ("Mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}"),
    ("Twilio key", "SK", r"SK[a-f0-9]{32}"),
    ("Telegram bot token", ":AA", r"\d{8,10}:AA[\w-]{30,}"),
    ("Discord token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("Databricks token", "dapi", r"dapi[a-f0-9]{32}"),
    ("Vault token", "hv", r"hv[sbr]\.[\w-]{20,}"),
    ("Atlassian token", "ATATT ATBB", r"AT(?:ATT|BB)[\w=-]{28,}"),
    ("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("Notion token", "ntn_ secret_", r"(?:ntn_|secret_)[A-Za-z0-9]{40,}"),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,}"),
    ("Supabase token", "sbp_ sb_secret_", r"sb(?:p_[a-f0-9]{36,}|_secret_[\w-]{20,})"),
    ("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"),
    (
        "Grafana token",
        "glc_ glsa_",
        r"gl(?:c_[\w+/=]{32,}|sa_[A-Za-z0-9]{30,}_[a-f0-9]{8})",
    ),
    ("Sentry token", "sntry", r"sntry[su]_[\w+/=]{40,}"),
    ("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{24,}"),
    ("Square token", "sq0 EAAA", r"(?:sq0(?:atp|csp)-[\w-]{20,}|EAAA[\w-]{56,})"),
    ("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
)

_KEY_BEGINS = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_ENDS = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"

TOKENS: tuple[SecretPattern, ...] = (
    # Of one that was cut short goes what looks like a key: long words, lines of nothing else.
    (
        "private key",
        ("-----BEGIN ",),
        re.compile(
            rf"{_KEY_BEGINS}(?:(?:(?!-----BEGIN ).)*?{_KEY_ENDS}"
            r"|(?:(?:\\[rn]|\s)*+[A-Za-z0-9+/=]{16,}+)*+"
            r"(?:(?:\\[rn]|[\r\n])++[A-Za-z0-9+/=]++(?=[\"'\\\r\n,.)}\]]|$))*+)",
            re.DOTALL,
        ),
    ),
    (
        "Slack webhook",
        ("hooks.slack.com/",),
        re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/+-]{10,}"),
    ),
    (
        "Azure client secret",
        ("Q~",),
        re.compile(r"(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[\w~.-]{30,40}(?![\w~.-])", re.ASCII),
    ),
    *(
        (name, tuple(literals.split()), re.compile(rf"(?<![\w-]){token}(?![\w-])", re.ASCII))
        for name, literals, token in _PREFIXED
    ),
)

# A value that only says where the secret is, or what kind of thing it would be.
_NO_VALUE = (
    r"(?!\[redacted|https?://|[$<{%]|\*{2,}|x{3,}\b|\.{3}|…|env\b"
    r"|(?:os|process|self|args|config|settings)\."
    r"|(?:none|null|nil|true|false|undefined|str|string|text|bytes|secretstr|optional|required"
    r"|hidden|unknown|changed|reset|expired|empty|redacted|missing|invalid|wrong"
    r"|your[-_ ]?\w*)\b)"
)
_QUOTED = (
    rf'(?:"{_NO_VALUE}(?P<double>(?:[^"\\\n]|\\.){{3,}}+)"'
    rf"|'{_NO_VALUE}(?P<single>(?:[^'\\\n]|\\.){{3,}}+)'"
    rf"|\\+[\"']{_NO_VALUE}(?P<escaped>[^\"'\\\n]{{3,}}+)\\+[\"'])"
)
_WORD = r"[^\s\"'`,;&(){}\[\]<>|]"
# In prose a password goes on to the next space; a full stop or comma behind it is the sentence's.
_SPOKEN = r"(?=[^\s\"'`]*[0-9!@#$%^*+/=~])[^\s\"'`]{3,}(?<![.,;:)\]}>])"
_ASSIGNED = r"\\*[\"']?\s{0,3}(?::=|=>|={1,3}|:)\s{0,3}"
_PASSWORD = (
    r"(?:pass(?:word|wd|phrase|code)|(?<=[a-z0-9]_)(?-i:PASS)|(?<![a-z])pwd|passwort"
    r"|contraseña|mot de passe|senha|secret"
    r"|client[-_]?secret|secret[-_ ]?(?:access[-_ ]?)?key)"
)
_KEY = (
    r"(?:(?:api|access|auth|account|private|signing|encryption|master|license|shared)[-_ ]?key"
    r"|token|credential|connection[-_ ]?string|cookie|session[-_ ]?id|webhook[-_ ]?secret)"
)
# Anything else after the name makes it another thing: `max_tokens`, `password_hash`.
_NAME_ENDS = r"(?:[-_](?:value|prod|production|staging|dev|test|live|\d{1,2}))?(?![\w-])"
_PASSWORDS = ("pass", "pwd", "contraseña", "senha", "secret")
_KEYS = ("key", "token", "credential", "connection", "cookie", "session", "webhook")


def _place(name: str, literals: tuple[str, ...], pattern: str) -> SecretPattern:
    return name, literals, re.compile(pattern, re.IGNORECASE)


# Their literals are looked for in the text in lower case.
PLACES: tuple[SecretPattern, ...] = (
    _place("password", ("://",), r"(?<=://)[^\s/?#:@\"'`]*+:(?P<secret>[^\s/?#\"'`]+)@"),
    _place(
        "credentials",
        ("authorization",),
        r"authorization\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?"
        r"(?:(?:bearer|basic|token|digest|negotiate|apikey|key)\s{1,3})?+"
        r"(?!\[redacted)(?P<secret>[^\s\"',;\\]{6,}+)",
    ),
    _place(
        "credentials",
        ("bearer",),
        r"(?<![\w-])bearer\s{1,3}(?P<secret>(?=[\w.~+/-]*\d)[\w.~+/-]{16,}+=*)",
    ),
    _place(
        "signature",
        ("sig",),
        r"[?&;](?:x-(?:amz|goog)-)?sig(?:nature)?=(?P<secret>[\w%+/=~.-]{16,}+)",
    ),
    _place(
        "account key",
        ("accountkey", "sharedaccesskey"),
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[\w+/]{20,}+=*)",
    ),
    _place("password", _PASSWORDS, rf"{_PASSWORD}{_NAME_ENDS}{_ASSIGNED}{_QUOTED}"),
    _place("token", _KEYS, rf"{_KEY}{_NAME_ENDS}{_ASSIGNED}{_QUOTED}"),
    _place(
        "password",
        _PASSWORDS,
        rf"{_PASSWORD}{_NAME_ENDS}\s{{0,3}}(?:={{1,3}}|:=)\s{{0,3}}{_NO_VALUE}"
        rf"(?P<secret>{_WORD}{{4,}}+)(?!\()",
    ),
    _place(
        "password",
        _PASSWORDS,
        rf"{_PASSWORD}{_NAME_ENDS}\s{{0,3}}(?::|=>)\s{{0,3}}{_NO_VALUE}"
        rf"(?P<secret>{_SPOKEN}|[a-z]{{6,}}+(?=[ \t]*(?:$|[,;\n])))(?!\()",
    ),
    _place(
        "token",
        _KEYS,
        rf"{_KEY}{_NAME_ENDS}{_ASSIGNED}{_NO_VALUE}"
        rf"(?P<secret>(?={_WORD}*[0-9]){_WORD}{{8,}}+)(?!\()",
    ),
    _place(
        "password",
        _PASSWORDS,
        rf"{_PASSWORD}\s{{1,3}}(?:is|was|are|ist|set to|changed to|reset to|now)\s{{1,3}}"
        rf"(?:{_QUOTED}|`(?P<ticks>[^`\n]{{3,}}+)`|{_NO_VALUE}(?P<secret>{_SPOKEN}))",
    ),
    _place(
        "password",
        ("pass", "token", "key", "secret"),
        r"(?:(?<=\s)--?(?:password|passwd|passphrase|token|api-?key|secret)[ =]"
        rf"|\blogin \S{{1,80}} password )[\"']?{_NO_VALUE}(?P<secret>{_WORD}{{4,}}+)",
    ),
    _place(
        "password",
        ("curl",),
        r"\bcurl\b[^\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:(?!\[redacted)"
        r"(?P<secret>[^\s\"']+)",
    ),
)
