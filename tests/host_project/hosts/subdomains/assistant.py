"""How the assistant reads clients."""

from assistant.hosting import HostTenants, TenantValues


class Host(HostTenants):
    tenant_model = "subdomains.Client"
    membership_model = "subdomains.Client_staff"

    def values(self, row):
        return TenantValues(slug=row.schema_name, name=row.schema_name.title())

    def members(self, row):
        return [(user, "member") for user in row.staff.all()]
