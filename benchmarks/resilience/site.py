"""The rows that every check starts from: those of the benchmark, and the tools whose effects are counted."""

from __future__ import annotations

import json

from assistant.models import Tenant, ToolSetting
from benchmarks.site import MEMBERS, TENANT, build, session_of

EFFECTS = ("pay",)


def main() -> None:
    """Build everything and print it as JSON: the members' keys and sessions."""
    keys = build()
    tenant = Tenant.objects.get(slug=TENANT)
    for name in EFFECTS:
        ToolSetting.objects.update_or_create(tenant=tenant, tool=name, defaults={"policy": ToolSetting.Policy.ON})
    print(json.dumps({"keys": keys, "sessions": [session_of(f"member-{n}") for n in range(MEMBERS)]}), flush=True)
