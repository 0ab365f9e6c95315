"""Retention deletes what is old below `path`: with `path="memory"` that is the ledgers."""

import pytest

from longthread import ToolResultEvictionConfig
from longthread.state.errors import ConfigurationError


@pytest.mark.parametrize("path", ["memory", "memory/archive", "MEMORY.md", "CON", "a\\b", "a:b"])
def test_a_folder_that_cannot_or_must_not_be_used_is_refused_at_once(path: str) -> None:
    with pytest.raises(ConfigurationError, match="path"):
        ToolResultEvictionConfig(path=path, retention_days=1)
