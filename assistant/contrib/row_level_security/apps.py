"""The Django app of row-level security."""

from __future__ import annotations

from django.conf import settings

from assistant.optional_apps import OptionalApp


class RowLevelSecurityConfig(OptionalApp):
    name = "assistant.contrib.row_level_security"
    label = "assistant_row_level_security"
    verbose_name = "Assistant: row-level security"

    def register(self) -> None:
        from assistant.contrib.row_level_security import (
            checks,  # noqa: F401 - registers the checks
            policies,
        )
        from assistant.services import readiness
        from assistant.services.tenancy import row_scope

        readiness.check_with("row_level_security", policies.readiness)
        row_scope.explain_hidden_rows_with(policies.find_hidden_rows)
        if settings.ASSISTANT_ROW_LEVEL_SECURITY:
            policies.wrap_statements()
