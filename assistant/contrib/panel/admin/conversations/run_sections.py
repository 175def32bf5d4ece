"""What optional apps show of runs: on the page of one, above its columns, and in the thread of their conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest
from django.utils.safestring import SafeString

from assistant.models import Run

# Takes the run, which the user may read; returns a section of HTML, "" for none.
Section = Callable[[Run], SafeString | str]
# Takes the runs of a conversation that the user may read; returns what stands below the messages of each, by the run.
ThreadPart = Callable[[HttpRequest, Sequence[Run]], Mapping[int, SafeString]]
_sections: list[Section] = []
_thread_parts: list[ThreadPart] = []


def add_run_section(section: Section) -> None:
    """Show a section on the pages of runs."""
    _sections.append(section)


def sections_of(run: Run) -> list[SafeString | str]:
    """Return the sections of a run's page."""
    return [shown for section in _sections if (shown := section(run))]


def add_thread_part(part: ThreadPart) -> None:
    """Show something below the messages of each run on the pages of conversations."""
    _thread_parts.append(part)


def thread_parts(request: HttpRequest, runs: Sequence[Run]) -> Mapping[int, list[SafeString]]:
    """Return what apps show below the messages of runs."""
    found: defaultdict[int, list[SafeString]] = defaultdict(list)
    for part in _thread_parts:
        for run_id, shown in part(request, runs).items():
            found[run_id].append(shown)
    return found
