"""Fast paths: switched off by the setting, and with untested versions."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from assistant.toolkit import fast_paths


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    fast_paths.configure(enabled=True)
    yield
    fast_paths.configure(enabled=True)


def test_every_fast_path_is_used_with_the_versions_of_the_lock() -> None:
    assert [name for name in fast_paths.TESTED_VERSIONS if not fast_paths.is_used(name)] == []


def test_the_setting_switches_them_all_off() -> None:
    fast_paths.configure(enabled=False)
    assert [name for name in fast_paths.TESTED_VERSIONS if fast_paths.is_used(name)] == []


def test_an_untested_version_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(fast_paths.TESTED_VERSIONS, "direct body", ("aiohttp", frozenset({"2.0"})))
    with caplog.at_level(logging.WARNING):
        assert not fast_paths.is_used("direct body")
        assert not fast_paths.is_used("direct body")
    assert len(caplog.records) == 1
    assert "is not tested with aiohttp 3." in caplog.text
