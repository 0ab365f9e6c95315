"""What secrets look like.

`TOKENS` are recognised by themselves: issuers give their tokens a prefix for exactly that. `PLACES`
are recognised by what stands before them (`password=…`, `Authorization: …`, `scheme://user:…@`);
there the group `secret` is what goes, and the rest stays.

Every pattern begins with something literal or rare and has no nested repetition, so that the time
it takes grows with the length of a text, whatever is in it.
"""

from __future__ import annotations

import re

__all__ = ["PLACES", "TOKENS"]

_END = r"(?![\w-])"

# What the issuer calls it, and how it begins. `{n,}` is a little below the issuer's own length.
_PREFIXED: dict[str, str] = {
    "AWS access key": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "Anthropic key": r"sk-ant-[\w-]{16,}",
    "OpenRouter key": r"sk-or-[\w-]{16,}",
    "OpenAI key": r"sk-(?:proj|svcacct|admin|None)-[\w-]{16,}",
    "API key": r"sk-(?:[a-z]{2,8}-)?(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})",
    "GitLab token": r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w-]{20,}",
    "Slack token": r"(?:xox[abceoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})",
    "Google key": r"(?:AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,})",
    "Stripe key": r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
    "JSON web token": r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]+){0,2}",
    "Hugging Face token": r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "Groq key": r"gsk_[A-Za-z0-9]{30,}",
    "xAI key": r"xai-[A-Za-z0-9]{40,}",
    "Replicate token": r"r8_[A-Za-z0-9]{30,}",
    "Perplexity key": r"pplx-[A-Za-z0-9]{30,}",
    "NVIDIA key": r"nvapi-[\w-]{30,}",
    "Tavily key": r"tvly-[\w-]{16,}",
    "LangSmith key": r"lsv2_(?:pt|sk)_[a-f0-9]{20,}_[a-f0-9]+",
    "npm token": r"npm_[A-Za-z0-9]{30,}",
    "PyPI token": r"pypi-A[\w-]{40,}",
    "RubyGems key": r"rubygems_[a-f0-9]{40,}",
    "Docker token": r"dckr_(?:pat|oat)_[\w-]{20,}",
    "DigitalOcean token": r"do[opr]_v1_[a-f0-9]{40,}",
    "SendGrid key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "Mailgun key": r"key-[a-f0-9]{32}",
    "Mailchimp key": r"[a-f0-9]{32}-us\d{1,2}",
    "Twilio key": r"SK[a-f0-9]{32}",
    "Telegram bot token": r"\d{8,10}:AA[\w-]{30,}",
    "Discord token": r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    "Databricks token": r"dapi[a-f0-9]{32}",
    "Vault token": r"hv[sbr]\.[\w-]{20,}",
    "Atlassian token": r"AT(?:ATT|BB)[\w=-]{28,}",
    "Linear key": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    "Notion token": r"(?:ntn_|secret_)[A-Za-z0-9]{40,}",
    "Shopify token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,}",
    "Supabase token": r"sb(?:p_[a-f0-9]{36,}|_secret_[\w-]{20,})",
    "PlanetScale token": r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}",
    "Grafana token": r"gl(?:c_[\w+/=]{32,}|sa_[A-Za-z0-9]{30,}_[a-f0-9]{8})",
    "Sentry token": r"sntry[su]_[\w+/=]{40,}",
    "New Relic key": r"NRAK-[A-Z0-9]{24,}",
    "Square token": r"(?:sq0(?:atp|csp)-[\w-]{20,}|EAAA[\w-]{56,})",
    "Airtable token": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}",
    "age key": r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
}

_KEY_BEGINS = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_ENDS = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"

TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Of one that was cut short goes what looks like a key: long words, lines of nothing else.
    (
        "private key",
        re.compile(
            rf"{_KEY_BEGINS}(?:(?:(?!-----BEGIN ).)*?{_KEY_ENDS}"
            r"|(?:(?:\\[rn]|\s)*+[A-Za-z0-9+/=]{16,}+)*+"
            r"(?:(?:\\[rn]|[\r\n])++[A-Za-z0-9+/=]++(?=[\"'\\\r\n,.)}\]]|$))*+)",
            re.DOTALL,
        ),
    ),
    (
        "Slack webhook",
        re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/+-]{10,}"),
    ),
    *(
        (name, re.compile(rf"(?<![\w-]){pattern}{_END}", re.ASCII))
        for name, pattern in _PREFIXED.items()
    ),
    (
        "Azure client secret",
        re.compile(r"(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[\w~.-]{30,40}(?![\w~.-])", re.ASCII),
    ),
)

# A value that only says where the secret is, or what kind of thing it would be.
_NO_VALUE = (
    r"(?!\[redacted|https?://|[$<{%]|\*{2,}|x{3,}\b|\.{3}|…|os\.|env\b|process\.|self\.|args\.|config\.|settings\."
    r"|(?:none|null|nil|true|false|undefined|str|string|text|bytes|secretstr|optional|required|hidden"
    r"|unknown|changed|reset|expired|empty|redacted|missing|invalid|wrong|your[-_ ]?\w*)\b)"
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
    r"(?:pass(?:word|wd|phrase|code)|(?<![a-z])pwd|passwort|contraseña|mot de passe|senha|secret"
    r"|client[-_]?secret|secret[-_ ]?(?:access[-_ ]?)?key)"
)
_KEY = (
    r"(?:(?:api|access|auth|account|private|signing|encryption|master|license|shared)[-_ ]?key"
    r"|token|credential|connection[-_ ]?string|cookie|session[-_ ]?id|webhook[-_ ]?secret)"
)
# `\w` after the name, or the name inside of a longer word, makes it another thing: `max_tokens`.
_NAME_ENDS = r"(?:[-_](?:value|prod|production|staging|dev|test|live|\d{1,2}))?(?![\w-])"

PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "password",
        re.compile(r"(?<=://)[^\s/?#:@\"'`]*+:(?P<secret>[^\s/?#\"'`]+)@"),
    ),
    (
        "credentials",
        re.compile(
            r"authorization\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?"
            r"(?:(?:bearer|basic|token|digest|negotiate|apikey|key)\s{1,3})?+"
            r"(?!\[redacted)(?P<secret>[^\s\"',;\\]{6,}+)",
            re.IGNORECASE,
        ),
    ),
    (
        "credentials",
        re.compile(
            r"(?<![\w-])bearer\s{1,3}(?P<secret>(?=[\w.~+/-]*\d)[\w.~+/-]{16,}+=*)", re.IGNORECASE
        ),
    ),
    ("account key", re.compile(r"(?:AccountKey|SharedAccessKey)=(?P<secret>[\w+/]{20,}+=*)")),
    ("password", re.compile(rf"{_PASSWORD}{_NAME_ENDS}{_ASSIGNED}{_QUOTED}", re.IGNORECASE)),
    ("token", re.compile(rf"{_KEY}{_NAME_ENDS}{_ASSIGNED}{_QUOTED}", re.IGNORECASE)),
    (
        "password",
        re.compile(
            rf"{_PASSWORD}{_NAME_ENDS}\s{{0,3}}(?:={{1,3}}|:=)\s{{0,3}}{_NO_VALUE}"
            rf"(?P<secret>{_WORD}{{4,}}+)(?!\()",
            re.IGNORECASE,
        ),
    ),
    (
        "password",
        re.compile(
            rf"{_PASSWORD}{_NAME_ENDS}\s{{0,3}}(?::|=>)\s{{0,3}}{_NO_VALUE}"
            rf"(?P<secret>{_SPOKEN}|[a-z]{{6,}}+(?=[ \t]*(?:$|[,;\n])))(?!\()",
            re.IGNORECASE,
        ),
    ),
    (
        "token",
        re.compile(
            rf"{_KEY}{_NAME_ENDS}{_ASSIGNED}{_NO_VALUE}"
            rf"(?P<secret>(?={_WORD}*[0-9]){_WORD}{{8,}}+)(?!\()",
            re.IGNORECASE,
        ),
    ),
    (
        "password",
        re.compile(
            rf"{_PASSWORD}\s{{1,3}}(?:is|was|are|ist|set to|changed to|reset to|now)\s{{1,3}}"
            rf"(?:{_QUOTED}|`(?P<ticks>[^`\n]{{3,}}+)`|{_NO_VALUE}(?P<secret>{_SPOKEN}))",
            re.IGNORECASE,
        ),
    ),
    (
        "password",
        re.compile(
            r"(?:(?<=\s)--?(?:password|passwd|passphrase|token|api-?key|secret)[ =]"
            r"|\blogin \S{1,80} password )"
            rf"[\"']?{_NO_VALUE}(?P<secret>{_WORD}{{4,}}+)",
            re.IGNORECASE,
        ),
    ),
    (
        "password",
        re.compile(
            r"\bcurl\b[^\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:(?!\[redacted)"
            r"(?P<secret>[^\s\"']+)"
        ),
    ),
)
