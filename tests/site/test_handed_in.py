"""What a host project names in its settings: functions that cannot be called stop the start, or are reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from assistant.contrib.mcp_server.sources import ADDED, Source, add_source
from assistant.hosting import HostTenants, TenantValues, get_host
from assistant.services.jobs.jobs import handles
from assistant.services.shown_notices import show_notice
from assistant.services.tenancy.host import settled


class Accounts(HostTenants):
    tenant_model = "auth.Group"

    def values(self, row: Any) -> TenantValues:
        return TenantValues(slug=row.name, name=row.name)

    def members(self, row: Any) -> Iterable[tuple[Any, str]]:
        return ()


class ForgetsPeople(Accounts):
    async def delete_user(self, user: Any) -> None:
        """Never awaited, it would delete nobody."""


class YieldsLater(Accounts):
    async def members(self, row: Any) -> Any:  # type: ignore[override]
        yield row, "member"


class TakesTooLittle(Accounts):
    def on_created(self, tenant: Any) -> None:  # type: ignore[override]
        pass


def not_enough(invocation: Any) -> None:
    pass


NOT_CALLABLE = "an interceptor"


class Breaks:
    def __init__(self) -> None:
        raise RuntimeError("no settings")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ForgetsPeople", "delete_user is async"),
        ("YieldsLater", "members is async"),
        ("TakesTooLittle", "on_created must take 2 positional arguments"),
    ],
)
def test_a_method_of_a_host_that_cannot_be_called_stops_the_start(settings: Any, name: str, problem: str) -> None:
    settings.ASSISTANT_TENANTS = f"{__name__}.{name}"
    with pytest.raises(ImproperlyConfigured, match=f"{name}: {problem}"):
        get_host()


def test_a_host_of_sync_methods_is_used(settings: Any) -> None:
    settings.ASSISTANT_TENANTS = f"{__name__}.Accounts"
    assert isinstance(get_host(), Accounts)


def test_an_awaitable_of_a_sync_method_is_an_error(settings: Any) -> None:
    settings.ASSISTANT_TENANTS = f"{__name__}.Accounts"
    with pytest.raises(TypeError, match=r"Accounts\.delete_user gave an awaitable"):
        settled(ForgetsPeople().delete_user(None), "delete_user")  # type: ignore[func-returns-value]
    assert settled([1], "members") == [1]


@pytest.mark.parametrize("variable", ["ASSISTANT_TOOL_INTERCEPTORS", "ASSISTANT_MODEL_INTERCEPTORS"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("not_enough", "must take 2 positional arguments"),
        ("NOT_CALLABLE", "is a str, not a function"),
        ("Breaks", "raised RuntimeError"),
        ("nobody", "cannot be imported"),
    ],
)
def test_an_interceptor_that_cannot_be_called_is_reported(
    settings: Any, variable: str, name: str, problem: str
) -> None:
    setattr(settings, variable, ["assistant.client.log_calls", f"{__name__}.{name}"])
    (found,) = [one for one in run_checks() if variable in one.msg]
    assert found.id == "assistant.E002" and problem in found.msg and name in found.msg


class Shelf(Source):
    async def read(self, member: Any, uri: str) -> None:  # type: ignore[override]
        return None


def test_a_source_whose_methods_are_async_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Shelf\.read is async"):
        add_source(Shelf())
    assert not any(isinstance(one, Shelf) for one in ADDED)


async def never(*_: Any) -> bool:
    return False


def test_what_apps_register_is_not_async() -> None:
    """An awaitable would count as yes."""
    with pytest.raises(TypeError, match="is_on of never is async"):
        show_notice("never", script="never.js", is_on=never)


def test_a_job_is_not_async() -> None:
    async def work(job: Any) -> None:
        return None

    with pytest.raises(ValueError, match="is async"):
        handles("never")(work)  # type: ignore[arg-type]
