"""The tenants that people belong to by the domain of their e-mail address."""

from __future__ import annotations

from assistant.models import Tenant


def tenants_of(email: str) -> list[Tenant]:
    """Return the active tenants one of whose domains an address has. Call it with all tenants visible."""
    domain = email.rpartition("@")[2].lower()
    rows = Tenant.objects.filter(is_active=True, external_id=None, email_domains__icontains=domain)
    return [tenant for tenant in rows.order_by("pk") if domain in domains_of(tenant)]


def domains_of(tenant: Tenant) -> list[str]:
    """Return the e-mail domains of a tenant, in lower case."""
    return tenant.email_domains.lower().replace(",", " ").split()
