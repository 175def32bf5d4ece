"""System checks of row-level security: of the database's settings, of its role, and of the policies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DEFAULT_DB_ALIAS

from assistant.contrib.row_level_security import policies


@register()
def server_side_cursors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report server-side cursors, which row-level security breaks: exports would fail while they read."""
    config = settings.DATABASES["default"]
    is_broken = config["ENGINE"].endswith("postgresql") and not config.get("DISABLE_SERVER_SIDE_CURSORS")
    if not settings.ASSISTANT_ROW_LEVEL_SECURITY or not is_broken:
        return []
    return [
        Error(
            "ASSISTANT_ROW_LEVEL_SECURITY is set per statement, but a server-side cursor fetches with separate ones.",
            hint='DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True',
            id="assistant.E006",
        )
    ]


@register(Tags.database)
def hidden_rows(app_configs: Any, databases: Collection[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Report that row-level security hides all rows. `migrate` runs this first: a data migration would find no rows."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    return [Error(problem, id="assistant.E004") for problem in policies.find_hidden_rows()]


@register(Tags.database, deploy=True)
def row_level_security(app_configs: Any, databases: Collection[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if row-level security is on but not effective. No error, because `migrate` runs before the installation."""
    if not settings.ASSISTANT_ROW_LEVEL_SECURITY or DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    return [checks.Warning(problem, id="assistant.W004") for problem in policies.find_problems()]
