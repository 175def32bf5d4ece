"""The rows that every check starts with: those of the benchmark, and tools whose effects are counted."""

from __future__ import annotations

import json

from django.contrib.auth import get_user_model

from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant, Tenant, ToolSetting
from benchmarks.site import MEMBERS, TENANT, build, session_of

EFFECTS = ("pay", "pay_if_approved", "repeat")
OPERATOR = "operator"
# The first asks the second.
DELEGATION = ("lead", "expert")


def main() -> None:
    """Create the rows, and print the members' keys and sessions and the operator's session as JSON."""
    keys = build()
    tenant = Tenant.objects.get(slug=TENANT)
    for name in EFFECTS:
        ToolSetting.objects.update_or_create(tenant=tenant, tool=name, defaults={"policy": ToolSetting.Policy.ON})
    lead, expert = (Assistant.objects.create(tenant=tenant, slug=slug, name=slug.title()) for slug in DELEGATION)
    Delegation.objects.create(tenant=tenant, assistant=lead).delegates.add(expert)
    get_user_model().objects.create_superuser(OPERATOR, password="bench-password")
    sessions = [session_of(f"member-{number}") for number in range(MEMBERS)]
    print(json.dumps({"keys": keys, "sessions": sessions, "operator": [session_of(OPERATOR)]}), flush=True)
