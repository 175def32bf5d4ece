"""Modules that are imported at their first use, from any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.toolkit.lazy_module import LazyModule

SLOW = "import time, told_late\ntold_late.steps.append('begun')\ntime.sleep(0.2)\ntold_late.steps.append('ended')\n"


def test_two_threads_never_import_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a package with circular imports, such as the MCP SDK, can be used before it is complete."""
    (tmp_path / "told_late.py").write_text("steps = []\n")
    names = ("needed_late_by_one", "needed_late_by_another")
    for name in names:
        (tmp_path / f"{name}.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        loaded = list(threads.map(lambda name: LazyModule(name).load(), names))
    assert [module.__name__ for module in loaded] == list(names)
    assert LazyModule("told_late").load().steps == ["begun", "ended"] * 2
