"""A second tenant beside that of `benchmarks.site`. Runs in the environment of a site."""

from __future__ import annotations

import json
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.utils import timezone

from assistant.models import Assistant, Membership, Tenant
from assistant.services.tenancy.members import create_api_key


def main(slug: str) -> None:
    """Create the tenant, and print an API key of its member as JSON."""
    tenant = Tenant.objects.create(slug=slug, name="Neighbour")
    Assistant.objects.create(tenant=tenant, slug="support", name="Support")
    user = get_user_model().objects.create_user("neighbour-0", password="bench-password")
    Membership.objects.create(tenant=tenant, user=user)
    key = create_api_key(tenant=tenant, user=user, name="bench", expires_at=timezone.now() + timedelta(days=1))[1]
    print(json.dumps(key), flush=True)
