"""Creates a tenant whose members can chat at once."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from assistant.core.values.prompt_template import with_escaped_braces
from assistant.models import Assistant, Tenant, ToolSetting
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.tenants import create_tenant
from assistant.services.toolpolicy.switch_changes import set_switch

PROMPT = (
    "You are the assistant of {name}. Answer briefly, in the language of the question. Use your tools for what they "
    "can tell, and say so if you do not know."
)


def add_first_assistant(
    *, tenant: Tenant, slug: str, name: str, prompt: str, actor: audit_trail.Actor = None
) -> Assistant:
    """Give a new tenant an assistant with a published prompt. Raises `ValidationError` if a value is not valid."""
    row = Assistant(tenant=tenant, slug=slug, name=name)
    row.full_clean()
    row.save()
    audit_trail.record(actor=actor, action="assistant.add", target=row.slug, tenant=tenant)
    publish_prompt(version=draft_prompt(assistant=row, text=prompt, actor=actor), actor=actor)
    return row


@transaction.atomic
def create_tenant_with_assistant(
    *,
    slug: str,
    name: str,
    owner: str,
    timezone: str = "UTC",
    assistant: str = "assistant",
    prompt: str = "",
    tools: Iterable[str] = (),
) -> Tenant:
    """Create a tenant as `create_tenant` does, with an assistant that has a published prompt.

    Args:
        assistant: the assistant's slug.
        prompt: its prompt; empty for `PROMPT`.
        tools: names of tools to switch on for the tenant.

    Raises:
        ValueError: there is no such user or tool.
        ValidationError: the slug is taken, or a value is not valid.
    """
    tenant = create_tenant(slug=slug, name=name, owner=owner, timezone=timezone)
    title = assistant.replace("-", " ").title()
    prompt = prompt or with_escaped_braces(PROMPT.format(name=name))
    add_first_assistant(tenant=tenant, slug=assistant, name=title, prompt=prompt)
    for tool in tools:
        set_switch(actor=None, tenant=tenant, assistant=None, tool=tool, policy=ToolSetting.Policy.ON)
    return tenant
