"""What optional apps show on the page of the spend of one tenant, below its tables."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.safestring import SafeString

from assistant.contrib.panel.reports.months import Month
from assistant.models import Tenant

# Takes the tenant and the month of the page; returns a section of HTML, "" for none.
Section = Callable[[Tenant, Month], SafeString | str]
_sections: list[Section] = []


def add_spend_section(section: Section) -> None:
    """Show a section on the page."""
    _sections.append(section)


def sections_of(tenant: Tenant | None, month: Month) -> list[SafeString | str]:
    """Return the sections of a month of a tenant; none without one."""
    return [] if tenant is None else [shown for section in _sections if (shown := section(tenant, month))]
