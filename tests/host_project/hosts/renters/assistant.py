"""How the assistant reads the landlord's tenants."""

from assistant.hosting import HostTenants, TenantValues


class Host(HostTenants):
    tenant_model = "renters.Tenant"
    membership_model = "renters.Tenant_users"

    def values(self, row):
        return TenantValues(slug=row.slug, name=row.slug.title())

    def members(self, row):
        return [(user, "member") for user in row.users.all()]
