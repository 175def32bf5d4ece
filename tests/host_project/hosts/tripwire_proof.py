"""Offers every row of both tenants to a tool of each, which forgot its filter, and prints what was let through."""

import asyncio
import io
import json

from django.core.management import call_command

from assistant.models import Tenant
from assistant.toolkit import ForeignRow, TenantInfo, Tool, ToolContext
from staging import prepare, stage


def is_given(tenant, rows):
    """Whether a tool of this tenant may return these rows."""
    info = TenantInfo(id=tenant.pk, slug=tenant.slug, external_id=tenant.external_id)
    tool = Tool.from_function(lambda: rows, name="rows", description="Read rows.")
    try:
        asyncio.run(tool.call("", ToolContext(tenant=info)))
    except ForeignRow:
        return False
    return True


def wrong_answers(staged):
    """Offers of rows that were answered wrongly, and how many there were."""
    wrong, tries = [], 0
    for asker in Tenant.objects.all():
        for owner, (_, rows) in staged.items():
            for row in rows:
                model = type(row)
                loaded = model._default_manager.filter(pk=row.pk)
                for offered in (row, loaded, loaded.only("pk")):
                    tries += 1
                    if is_given(asker, offered) != (asker.slug == owner):
                        wrong.append(f"{model.__name__} of {owner} for a tool of {asker.slug}")
    return wrong, tries


def unnamed():
    """The models that the system check names."""
    told = io.StringIO()
    call_command("check", stderr=told)
    return [line.split("The rows of ")[1].split()[0] for line in told.getvalue().splitlines() if "W005" in line]


staged = prepare()
assert [(tenant.slug, tenant.external_id) for tenant in Tenant.objects.order_by("pk")] == [
    (slug, str(row.pk)) for slug, (row, _) in staged.items()
]
wrong, tries = wrong_answers(staged)
assert unnamed() == [stage.UNNAMED], unnamed()
print(json.dumps({"wrong": wrong, "tries": tries}))
