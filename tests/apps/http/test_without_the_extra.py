"""The HTTP routes where the extra that they need is not installed."""

from __future__ import annotations

import subprocess
import sys


def test_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['starlette'] = None; import longthread.apps.http"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Starlette is missing, pip install 'longthread[server]'" in done.stderr
