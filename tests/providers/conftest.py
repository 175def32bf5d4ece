from __future__ import annotations

import pytest

from tests.providers.asking import Listener


@pytest.fixture(params=["iterating", "told"])
def listener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test twice: text by iterating alone, and text told where it arrives."""
    monkeypatch.setattr(Listener, "is_told", request.param == "told")
