"""Calls a shipped tool as a run does, arguments checked and result converted, but on the test's own connection."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User

from assistant.models import Tenant
from assistant.toolkit import TenantInfo, Tool, ToolContext, UserInfo
from assistant.toolkit.calls.call import convert


def context_of(tenant: Tenant, user: User, **fields: Any) -> ToolContext:
    return ToolContext(
        tenant=TenantInfo(tenant.pk, tenant.slug, tenant.name, tenant.timezone),
        user=UserInfo(user.pk, user.username),
        **fields,
    )


def call(tool: Tool, context: ToolContext | None = None, **arguments: Any) -> Any:
    """Return the result that the model would read, parsed. Raises what the tool raises."""
    keywords = tool.check(arguments)
    if tool.signature is not None and tool.signature.contexts:
        keywords["context"] = context
    return json.loads(convert(tool(**keywords)))
