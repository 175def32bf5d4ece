"""What `manage.py check` and the operator's commands say of row-level security."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.row_level_security import checks
from assistant.optional_apps import protecting_settings
from assistant.services.tenancy import row_scope

pytestmark = pytest.mark.once


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"DISABLE_SERVER_SIDE_CURSORS": True}, 0)])
def test_cursors_that_row_level_security_breaks_are_reported(
    options: dict[str, Any], count: int, settings: Any
) -> None:
    settings.DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", **options}}
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    assert [found.id for found in checks.server_side_cursors(None)] == ["assistant.E006"] * count
    settings.ASSISTANT_ROW_LEVEL_SECURITY = False
    assert checks.server_side_cursors(None) == []


def test_the_setting_without_the_app_is_an_error() -> None:
    assert "ASSISTANT_ROW_LEVEL_SECURITY" in protecting_settings()


def test_a_command_refuses_to_run_where_rows_are_hidden(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    assert row_scope.why_rows_are_hidden() == []
    monkeypatch.setattr(row_scope, "_explanations", [lambda: ["All rows are hidden."]])
    with pytest.raises(CommandError, match="All rows are hidden"):
        call_command("assistant_tools")
