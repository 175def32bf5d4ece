"""Adds markers such as `once`, `pure`, `server`, `processes` and `apps`, by what a test needs beside Python."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

DATABASE = {"db", "transactional_db", "django_db_setup"}
SERVERS = {"shared_server", "two_servers"}
# A module with one of these words may depend on the database or the event log without a fixture.
SHARED = re.compile(r"redis|postgres|database_url|eventlog", re.IGNORECASE)
# Words of modules that start servers themselves, and of modules that start other processes.
STARTS_SERVERS = re.compile(r"\btests\.live\b|\bimport live\b")
STARTS_PROCESSES = re.compile(r"\bsubprocess\b|\bplaywright\b|\boutside_process\b|\bembedded\b")
# Rooms of tests that are about the whole site with all its apps, and words of other modules that need an optional app.
WHOLE_SITE = {"contrib", "isolation", "host_project", "docs", "site", "languages", "conformance", "benchmarks"}
NEEDS_APPS = re.compile(
    r"\bassistant(\.contrib|_evaluations|_mcp_servers|_timed|_end_users|_sign_in)\b|\btests\.(contrib|mcp\.talking|isolation)\b"
    r"|\bASSISTANT_METRICS_TOKEN\b|/mcp/|/admin/|[\"']admin:"
    # The page of `inbox`.
    r"|/inbox/"
    # Approvals on pages of the panel, and the panel where a project has mounted it.
    r"|\banswer_page\b|/office/panel/"
    # The button of `dictation`, and the list of `model_choice`.
    r"|\bDictate\b|\bModel that answers\b"
    # That of `context_gauge`.
    r"|\bcontext-gauge\b"
    # That of `temporary`.
    r"|\bTemporary conversation\b"
    # Pages with the widget of `end_users`.
    r"|\btests\.browser\.test_widget|/end-user-tokens/|/widget-token/|<tenant-assistant"
    r"|\btests\.browser\.chat\.test_attachments\b|\b[Pp]asskey"
    # Files that `file_reading` reads.
    r"|\bsamples\.(PDF|PPTX)\b|\bmake_(pdf|xlsx)\("
    # The tools of `timed`.
    r"|\b(set|list|cancel)_alarms?\b|\bschedule_question\b"
)
# Modules that use a database, and whose subject is the same on each: what documents show, AG-UI's own clients, and what
# goes to providers and comes from them; what is stored of that is tried on each (tests/providers/cases).
SAME_ON_EACH = re.compile(r"tests\.(docs|agui_clients|providers\.(?!cases))\b")
# A module whose tests all use the database, or are all slow.
NONE_IS_PURE = re.compile(r"^pytestmark\b.*\b(django_db|slow)\b", re.MULTILINE)


@cache
def may_be_pure(path: Path) -> bool:
    """Return False for a module whose text rules out pure tests, so that it need not be imported to look for them."""
    text = path.read_text()
    rules = (SHARED, STARTS_SERVERS, STARTS_PROCESSES, NONE_IS_PURE)
    return "mark.pure" in text or not any(words.search(text) for words in rules)


@cache
def needs_apps(path: Path) -> bool:
    """Return whether a module needs optional apps, or is about the site with all of them.

    It is not even imported where none is installed: with a model of an absent app, the deletion of a row would look
    into tables that are not there.
    """
    rooms = path.relative_to(Path(__file__).parent).parts
    if rooms[0] == "admin":
        return False  # the plain pages of models, which are the core's
    return is_whole_site(path) or NEEDS_APPS.search(path.read_text()) is not None


def is_whole_site(path: Path) -> bool:
    """Return whether a module or a folder is in a room of tests about the whole site."""
    folder = Path(__file__).parent
    return path.is_relative_to(folder) and bool(WHOLE_SITE & {*path.relative_to(folder).parts})


@cache
def _has(words: re.Pattern[str], module: ModuleType) -> bool:
    return words.search(inspect.getsource(module)) is not None


def mark(item: pytest.Function) -> None:
    """Add the markers that follow from the test's fixtures and from what its module uses."""
    fixtures, module = {*item.fixturenames}, item.module
    has_server = bool(fixtures & SERVERS) or _has(STARTS_SERVERS, module)
    has_processes = "outside_process" in fixtures or _has(STARTS_PROCESSES, module)
    if needs_apps(item.path):
        item.add_marker("apps")
    if "fast_paths" in item.path.parts:
        item.add_marker("fast_paths")
    if has_server:
        item.add_marker("server")
    if has_processes:
        item.add_marker("processes")
    if fixtures & DATABASE or item.get_closest_marker("django_db") or _has(SHARED, module):
        if SAME_ON_EACH.match(module.__name__) and item.get_closest_marker("services") is None:
            item.add_marker("once")
        return
    item.add_marker("once")
    if not (has_server or has_processes or item.get_closest_marker("slow")):
        assert may_be_pure(item.path), f"{item.path} has pure tests, but is left out where only these are asked for"
        item.add_marker("pure")
