"""The face: every public name is there, found where it says, and nothing else is."""

from __future__ import annotations

import pytest

import longthread


@pytest.mark.parametrize("name", longthread.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(longthread, name) is not None
    assert name in dir(longthread)


def test_the_names_that_are_imported_late_are_the_public_ones() -> None:
    late = [name for names in longthread._HOMES.values() for name in names]
    assert sorted(late) == sorted(longthread.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = longthread.nothing
