"""How far the token estimate is from `o200k_base`."""

from __future__ import annotations

from longthread.state.estimate import estimate_tokens
from longthread.state.tokenizer import load_tokenizer

from ..token_counting import langchain_estimate, samples
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]

HELD = ("prose", "Python", "TypeScript", "C", "JSON", "base64", "documentation")


def run(options: Options) -> Result:
    """Count every kind of text both ways."""
    tokenizer = load_tokenizer()
    result = Result("tokens", "Token estimate")
    if tokenizer.name == "estimate":
        result.figures.append(
            Figure(
                "largest error of the token estimate",
                None,
                at_most=0.1,
                official=False,
                note="nothing to compare with: pip install bpe-openai",
            )
        )
        return result
    errors: dict[str, float] = {}
    rows: list[list[Cell]] = []
    for kind, text in samples().items():
        true, estimate, other = (
            tokenizer.count(text),
            estimate_tokens(text),
            langchain_estimate(text),
        )
        errors[kind] = estimate / true - 1
        rows.append([kind, true, estimate, f"{errors[kind]:+.1%}", f"{other / true - 1:+.1%}"])
    held = {
        kind: error
        for kind, error in errors.items()
        if any(word in kind.replace(",", "").split() for word in HELD)
    }
    for which, among in (("prose, code, JSON, base64, CJK", held), ("every kind", errors)):
        worst = max(among, key=lambda kind: abs(among[kind]))
        result.figures.append(
            Figure(
                f"largest error of the token estimate, {which}",
                abs(among[worst]),
                at_most=0.1,
                official=not options.tiny,
                note=f"{worst} {among[worst]:+.1%}",
            )
        )
    columns = ["kind", "tokens", "estimate", "error", "langchain-core"]
    result.tables.append(Table(f"Estimate against {tokenizer.name}", columns, rows))
    return result
