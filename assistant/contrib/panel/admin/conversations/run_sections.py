"""What optional apps show on the page of a run, above its columns."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.safestring import SafeString

from assistant.models import Run

# Takes the run, which the user may read; returns a section of HTML, "" for none.
Section = Callable[[Run], SafeString | str]
_sections: list[Section] = []


def add_run_section(section: Section) -> None:
    """Show a section on the pages of runs."""
    _sections.append(section)


def sections_of(run: Run) -> list[SafeString | str]:
    """Return the sections of a run's page."""
    return [shown for section in _sections if (shown := section(run))]
