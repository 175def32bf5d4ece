"""How the assistant reads firms."""

from assistant.hosting import HostTenants, TenantValues
from assistant.models import Assistant


class Firms(HostTenants):
    tenant_model = "firms.Firm"
    membership_model = "firms.Employment"

    def values(self, firm):
        return TenantValues(slug=firm.schema_name, name=firm.name)

    def members(self, firm):
        for employment in firm.employments.select_related("person"):
            yield employment.person, "admin" if employment.is_manager else "member"

    def on_created(self, tenant, firm):
        Assistant.objects.create(tenant=tenant, slug="helper", name=f"{firm.name}'s helper")
