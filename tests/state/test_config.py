"""Configuration that cannot be used is refused when it is made, by field, value and fix."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from longthread import (
    CompactionConfig,
    FlushTrigger,
    LongthreadError,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from longthread.state.templates import fill, fill_numbers

WRONG: list[tuple[Any, dict[str, Any], list[str]]] = [
    (MaskingConfig, {"turnz": 3}, ["MaskingConfig.turnz=3", "unknown field", "'turns'"]),
    (MaskingConfig, {"whatever": 3}, ["known fields: turns, placeholder"]),
    (MaskingConfig, {"turns": 0}, ["MaskingConfig.turns=0", "greater than or equal to 1"]),
    (MaskingConfig, {"batch": 0}, ["MaskingConfig.batch", "1 or more"]),
    (MaskingConfig, {"batch": "sometimes"}, ["MaskingConfig.batch", "'sometimes'"]),
    (MaskingConfig, {"placeholder": ""}, ["placeholder=''"]),
    (ToolResultEvictionConfig, {"max_window_share": 0}, ["max_window_share=0", "greater than 0"]),
    (ToolResultEvictionConfig, {"max_window_share": 1.5}, ["less than or equal to 1"]),
    (CompactionConfig, {"threshold": 0.05}, ["threshold=0.05", "0.1"]),
    (CompactionConfig, {"threshold": 1.2}, ["threshold=1.2"]),
    (CompactionConfig, {"keep_tokens": -2}, ["keep_tokens=-2"]),
    (
        CompactionConfig,
        {"summary_prompt": "Summarise"},
        ["summary_prompt='Summarise'", "{messages}"],
    ),
    (RollingCompactionConfig, {"compaction_count": 0}, ["compaction_count=0"]),
    (RollingCompactionConfig, {"compaction_count": 100}, ["compaction_count=100"]),
    (RollingCompactionConfig, {"auto_threshold": 100}, ["auto_threshold=100"]),
    (TruncateArgsConfig, {"max_arg_length": 10}, ["under max_arg_length"]),
    (MemoryConfig, {"consolidation_prompt": "only %d"}, ["exactly two %d"]),
    (MemoryConfig, {"consolidation_prompt": "%d %d %d"}, ["exactly two %d"]),
    (MemoryConfig, {"consolidation_min_gap": timedelta(-1)}, ["consolidation_min_gap"]),
    (MemoryConfig, {"consolidation_min_gap": timedelta.max}, ["consolidation_min_gap"]),
    (MemoryConfig, {"daily_file_retention_days": 36_501}, ["daily_file_retention_days", "36501"]),
    (ToolResultEvictionConfig, {"retention_days": 10**30}, ["retention_days", "36500"]),
    (FlushTrigger, {"mode": "throttled", "gap": timedelta.max}, ["gap"]),
    (FlushTrigger, {"mode": "throttled"}, ["longer than nothing", "PT10M"]),
    (CompactionConfig, {"model": 3}, ["CompactionConfig.model=3: Input should be an instance of"]),
    (MaskingConfig, {"exclude_tools": ("a", 3)}, ["MaskingConfig.exclude_tools.1=3"]),
    (
        CompactionConfig,
        {"trigger_messages": 2, "triggerMessages": 1},
        ["trigger_messages=2", "given as 'triggerMessages' too"],
    ),
]


@pytest.mark.parametrize(("model", "given", "words"), WRONG, ids=str)
def test_the_error_names_field_value_and_fix(
    model: Any, given: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(LongthreadError) as caught:
        model(**given)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.code == "INVALID_CONFIGURATION"
    assert isinstance(caught.value, ValueError)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(LongthreadError) as caught:
        MaskingConfig(turns=0, payback=-1)
    assert str(caught.value).count("\n") == 1


@pytest.mark.parametrize(
    ("model", "given"), [(CompactionConfig, {"model": 3}), (MaskingConfig, {"batch": "sometimes"})]
)
def test_a_mistake_is_told_once_whatever_else_the_field_may_hold(
    model: Any, given: dict[str, Any]
) -> None:
    with pytest.raises(LongthreadError) as caught:
        model(**given)
    field = next(iter(given))
    assert str(caught.value).startswith(f"{model.__name__}.{field}={given[field]!r}: ")
    assert "\n" not in str(caught.value)


def test_camel_case_is_accepted() -> None:
    given: Any = {"maxChars": 10, "previewChars": 3}
    assert ToolResultEvictionConfig(**given).max_chars == 10


def test_configuration_is_frozen() -> None:
    config: Any = MaskingConfig()
    with pytest.raises(ValueError, match="frozen"):
        config.turns = 3


def test_braces_and_percent_signs_in_prompts_are_safe() -> None:
    CompactionConfig(summary_prompt='Use {"a": 1}, 50% of {messages}')
    assert fill('{"a": 1} 50% {x} {messages}', messages="{x}{messages}") == (
        '{"a": 1} 50% {x} {x}{messages}'
    )
    MemoryConfig(consolidation_prompt="50% of %d, {x}, %s, %d")
    assert fill_numbers("50% of %d, {x}, %s, %d", 1, 2) == "50% of 1, {x}, %s, 2"


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("config", "field"),
    [
        (CompactionConfig, "trigger_messages"),
        (CompactionConfig, "keepTokens"),
        (CompactionConfig, "payback"),
        (MaskingConfig, "batch"),
        (RollingCompactionConfig, "auto_threshold"),
    ],
)
def test_true_and_false_are_no_numbers(config: Any, field: str, value: bool) -> None:
    with pytest.raises(LongthreadError, match=rf"{config.__name__}\.{field}={value}: must be"):
        config(**{field: value})


def test_a_value_that_is_long_or_cannot_be_written_is_refused_as_any_other() -> None:
    with pytest.raises(LongthreadError, match=r"CompactionConfig\.payback=a number of thousands"):
        CompactionConfig(payback=10**5000)
    with pytest.raises(LongthreadError, match="must contain the placeholder") as refused:
        CompactionConfig(summary_prompt="x" * 1_000_000)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_a_blank_prompt_for_the_extraction_is_refused(prompt: str) -> None:
    with pytest.raises(LongthreadError, match=r"MemoryConfig\.flush_prompt=.*leave it out"):
        MemoryConfig(flush_prompt=prompt)


def test_the_mask_goes_by_the_references_own_name_too() -> None:
    given: dict[str, Any] = {"observationMaskingTurns": 3}
    assert MaskingConfig(**given) == MaskingConfig(turns=3)
    for value, named in [
        (0, "observationMaskingTurns=0"),
        (True, "observationMaskingTurns=True: must be a number"),
    ]:
        with pytest.raises(LongthreadError, match=named):
            MaskingConfig(**{**given, "observationMaskingTurns": value})
    with pytest.raises(LongthreadError, match="given as 'turns' too; leave one of the two out"):
        MaskingConfig(**given, turns=4)
