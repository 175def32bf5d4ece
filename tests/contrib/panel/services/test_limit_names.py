"""Limits have names in the language of the page."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from assistant.contrib.panel.services.quota_report import limit_name
from assistant.core.values.quota_kinds import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_has_a_name_in_english_and_in_german(name: str) -> None:
    with override("en"):
        english = limit_name(name)
    with override("de"):
        german = limit_name(name)
    assert english != german
    assert "_" not in english
