"""Calls tools in tests for the tenants and users that the test has in the database."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django.apps import apps
from django.contrib.auth.models import AbstractBaseUser

from assistant.hosting import get_host
from assistant.models import Tenant
from assistant.services.tenancy.members import tenant_info
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from assistant.testing import tool_tester
from assistant.testing.database import share_connections
from assistant.toolkit import TenantInfo, Tool, ToolContext, ToolResult, UserInfo
from assistant.toolkit.definition.tool import Arguments


@all_tenants()
def find_tenant(row: Any) -> Tenant:
    """Return the tenant that mirrors a row of your own tenant model; a `Tenant` is returned as it is.

    Raises:
        LookupError: there is none.
        TypeError: the row is of another model.
    """
    if isinstance(row, Tenant):
        return row
    host = get_host()
    if host is None or not isinstance(row, apps.get_model(host.tenant_model)):
        wanted = "a Tenant" + (f" or a {host.tenant_model}" if host else ", since ASSISTANT_TENANTS is not set")
        raise TypeError(f"{row!r} is not {wanted}.")
    found = Tenant.objects.filter(external_id=str(row.pk)).first()
    if found is None:
        raise LookupError(
            f"{row!r} has no tenant. Rows that `bulk_create`, `update` or `loaddata` write get one by "
            "`assistant_sync_tenants`."
        )
    return found


def tool_context(tenant: Any, user: Any, **fields: Any) -> ToolContext:
    """Return the context that a tool gets in a run of `user`.

    Args:
        tenant: a row of your own tenant model, a `Tenant`, or a `TenantInfo`.
        user: a row of your user model, or a `UserInfo`.
        fields: further fields, such as `config`, `secrets` and `extra`.
    """
    return ToolContext(tenant=_tenant_info(tenant), user=_user_info(user), **fields)


def _tenant_info(tenant: Any) -> TenantInfo:
    return tenant if isinstance(tenant, TenantInfo) else tenant_info(find_tenant(tenant))


def _user_info(user: Any) -> UserInfo:
    return UserInfo(user.pk, user.get_username()) if isinstance(user, AbstractBaseUser) else user


class ToolTester(tool_tester.ToolTester):
    """`assistant.testing.tool_tester.ToolTester` for tests with a database.

    `tenant` and `user` may be rows: of your own tenant model or `Tenant`, and of your user model. `run` calls the tool
    on the connection of the test; for `await call(...)` use `AssistantTestMixin` or the fixture `assistant_db`. With
    row-level security the tool sees the rows of its tenant alone, as in a run.
    """

    def __init__(self, tool: Tool, *, tenant: Any = "acme", user: Any = "alice", **fields: Any) -> None:
        super().__init__(
            tool,
            tenant=tenant if isinstance(tenant, str) else _tenant_info(tenant),
            user=user if isinstance(user, str) else _user_info(user),
            **fields,
        )

    async def call(self, arguments: Arguments = None, /, **named: Any) -> ToolResult:
        tenant = self.context.tenant.id
        with tenant_scope(tenant) if isinstance(tenant, int) else nullcontext():
            return await super().call(arguments, **named)

    def run(self, arguments: Arguments = None, /, **named: Any) -> ToolResult:
        with share_connections():
            return super().run(arguments, **named)
