"""Which versions of prompts name a variable."""

from __future__ import annotations

from django.db.models import Q

from assistant.core.values.prompt_template import names_in
from assistant.models import PromptVariable, PromptVersion
from assistant.services.jobs.jobs import waiting_jobs
from assistant.services.jobs.names import PUBLISH_JOB


def versions_that_need(*, variable: PromptVariable) -> list[PromptVersion]:
    """Return the versions that name a tenant's variable and are published, or will be at a moment."""
    waiting = waiting_jobs(tenant_id=variable.tenant_id, name=PUBLISH_JOB).values_list("key", flat=True)
    planned = [int(key) for key in waiting]
    rows = PromptVersion.objects.filter(
        Q(status=PromptVersion.Status.PUBLISHED) | Q(pk__in=planned),
        assistant__tenant_id=variable.tenant_id,
        uses_variables=True,
        text__contains=variable.name,
    )
    found = rows.select_related("assistant__tenant").order_by("assistant", "number")
    return [version for version in found if variable.name in names_in(version.text)]
