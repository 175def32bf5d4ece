"""Fixtures that all tests share: the cast, a fake provider, live servers."""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import hypothesis
import pytest
import redis
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test.utils import teardown_databases
from django.utils import translation
from pytest_django import DjangoDbBlocker

from assistant.contrib.demo.tenants import load_demo_documents
from assistant.models import Assistant, Provider, Tenant
from assistant.services.db.clock import clock_watch
from assistant.services.eventlog.log import ThreadLog
from assistant.services.tenancy.members import Member, find_member
from assistant.toolkit import ToolContext
from tests.base import Cast, make_cast
from tests.databases.template import create_databases
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.library.calling import context_of
from tests.live import KINDS, Server, SharedServer, serve, shared
from tests.needs import is_whole_site, mark, may_be_pure, needs_apps
from tools.assistant_demo import FIXTURES, load_demo

if apps.is_installed("assistant.contrib.panel"):
    # Its pages are registered with its addresses; tests go through what is registered.
    admin.site.get_urls()

# What is imported and collected stays until the end. So Python's garbage collector waits until all of it is there, and
# then leaves it out of its passes: that halves the time of collecting the tests.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()


# No test fails because of the time that it takes: the machine may be busy.
hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")


def has_services() -> bool:
    """Return whether this test run has PostgreSQL and Redis, which several server processes need."""
    return bool(settings.ASSISTANT_REDIS_URL) and settings.DATABASES["default"]["ENGINE"].endswith("postgresql")


# The longest files, which come first: one that is begun last would keep one worker busy and the others waiting. Those
# that mostly wait come before those in browsers, so that fewer browsers are at work at once.
LONG = (
    "isolation/test_unfiltered_site", "isolation/test_row_security", "isolation/test_http", "docs/test_commands",
    "browser/test_vectors", "host_project/", "contrib/docs/test_schemathesis", "browser/",
    "services/runs/recovery/test_recovery", "isolation/test_endings", "commands/", "site/test_environment",
    "contrib/mcp_server", "markdown/", "contrib/metrics", "isolation/", "contrib/openai_api/",
    "api/test_hostile", "services/toolcalls/", "mcp/", "contrib/end_users/", "contrib/webhooks/", "api/", "docs/",
)  # fmt: skip


@cache
def _position(path: Path) -> int:
    """Return where the tests of a file come in the order of `LONG`."""
    place = path.relative_to(Path(__file__).parent).as_posix()
    return next((i for i, long in enumerate(LONG) if place.startswith(long)), len(LONG))


def _kind(item: pytest.Item) -> int:
    """Return where a test comes in its file: those of one kind of server together, because only one runs at a time."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    chosen = params.get("server", params.get("served"))
    return KINDS.index(chosen) if chosen in KINDS else 0


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only modules that may have pure tests if no others are asked for, and those of the core if it is alone."""
    is_module = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    # A package or a conftest of the whole site's rooms imports models of absent apps too.
    is_of_apps = is_whole_site(collection_path) or (is_module and needs_apps(collection_path))
    if is_of_apps and os.environ.get("TEST_APPS") == "core":
        return True
    return True if config.option.markexpr == "pure" and is_module and not may_be_pure(collection_path) else None


# Runs around all other hooks: `-m` needs the markers, and pytest-django sorts tests too.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Leave out tests that another test run has, and put long files first.

    Without PostgreSQL and Redis these are the tests of several processes. TEST_APPS=core leaves those out that need
    optional apps, none of which is installed then; TEST_APPS=rest leaves out all others.

    With them it is the second test run of two, so tests that are the same on every database are left out.
    """
    for item in items:
        assert isinstance(item, pytest.Function)
        mark(item)
    yield
    elsewhere = "once" if has_services() else "services"
    items[:] = [item for item in items if item.get_closest_marker(elsewhere) is None]
    if apps := os.environ.get("TEST_APPS"):
        items[:] = [item for item in items if (item.get_closest_marker("apps") is None) == (apps == "core")]
    items.sort(key=lambda item: _position(item.path))
    items[:] = [item for _, of_file in groupby(items, lambda item: item.path) for item in sorted(of_file, key=_kind)]


def pytest_report_header() -> str:
    engine = settings.DATABASES["default"]["ENGINE"]
    redis_url = settings.ASSISTANT_REDIS_URL
    return f"database: {engine}, redis: {'yes' if redis_url else 'no'}, " + (
        "with the tests of several server processes, without those that are the same on every database"
        if has_services()
        else "tests of several server processes are left to a run with TEST_DATABASE_URL and TEST_REDIS_URL"
    )


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """In place of pytest-django's fixture: the database begins as a copy of one that is migrated already."""
    with django_db_blocker.unblock():
        created = create_databases(request.config.rootpath / ".pytest_cache" / "databases")
    yield
    with django_db_blocker.unblock():
        try:
            teardown_databases(created, verbosity=0)
        except DatabaseError as exc:  # a server that has just been killed may still be connected
            request.node.warn(pytest.PytestWarning(f"The test database is left behind: {exc}"))


@pytest.fixture(scope="session", autouse=True)
def _empty_redis() -> None:
    """Delete logs of an earlier test run, because rows are numbered from 1 in every run."""
    if settings.ASSISTANT_REDIS_URL:
        with redis.Redis.from_url(settings.ASSISTANT_REDIS_URL) as client:
            client.flushdb()


@pytest.fixture(autouse=True)
def _unwatched_clock() -> None:
    """Each test begins as a process does, which has seen no jump of the database's clock."""
    clock_watch.__init__()  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _in_english() -> None:
    """Each test begins in the default language: a request leaves that of its reader behind in the thread."""
    translation.activate(settings.LANGUAGE_CODE)


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def acme(cast: Cast) -> Tenant:
    return cast.acme


@pytest.fixture
def globex(cast: Cast) -> Tenant:
    return cast.globex


@pytest.fixture
def alice(cast: Cast) -> User:
    return cast.alice


@pytest.fixture
def amy(cast: Cast) -> User:
    return cast.amy


@pytest.fixture
def mallory(cast: Cast) -> User:
    return cast.mallory


@pytest.fixture
def greta(cast: Cast) -> User:
    return cast.greta


@pytest.fixture
def support(cast: Cast) -> Assistant:
    return cast.support


@pytest.fixture
def fake_provider() -> Iterator[FakeProvider]:
    """A provider's server whose answers the test sets."""
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def provider(fake_provider: FakeProvider, cast: Cast) -> Provider:
    """A provider row: every assistant of the cast uses the fake provider."""
    row = make_provider(base_url=fake_provider.url)
    for tenant in (cast.acme, cast.globex):
        tenant.default_provider = row
        tenant.save(update_fields=["default_provider"])
    return row


@pytest.fixture(scope="session")
def shared_server(django_db_setup: None) -> Iterator[SharedServer]:
    """The server that tests share, on the database of the test run. It ends before that is deleted."""
    yield shared
    shared.stop_unless_lent()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """The site under each ASGI server in turn: a test that uses this runs twice."""
    with shared_server.lend(request.param) as lent:
        yield lent


@pytest.fixture
def uvicorn_server(shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """The site under uvicorn, for tests that do not depend on the kind of server."""
    with shared_server.lend("uvicorn") as lent:
        yield lent


@pytest.fixture
def two_servers(transactional_db: None) -> Iterator[tuple[Server, Server]]:
    """Two server processes on one PostgreSQL and one Redis, for tests marked `services`."""
    with serve() as first, serve() as second:
        yield first, second


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this test's runs out of the recordings (RECORD_RUNS), because it writes incomplete events itself."""
    monkeypatch.setattr(ThreadLog, "append", inspect.unwrap(ThreadLog.append))


@pytest.fixture
def alice_member(cast: Cast) -> Member:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    return member


@pytest.fixture
def at_acme(cast: Cast) -> ToolContext:
    """Alice's tool context, at Acme."""
    return context_of(cast.acme, cast.alice)


@pytest.fixture
def at_globex(cast: Cast) -> ToolContext:
    """Mallory's tool context, at Globex."""
    return context_of(cast.globex, cast.mallory)


@pytest.fixture
def demo(cast: Cast) -> None:
    load_demo(cast.acme, cast.globex)
    for tenant in (cast.acme, cast.globex):
        load_demo_documents(tenant, FIXTURES)
