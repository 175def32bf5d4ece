"""How the assistant reads organisations."""

from assistant.hosting import HostTenants, TenantValues


class Host(HostTenants):
    tenant_model = "organisations.Organisation"
    membership_model = "organisations.Member"
    tenant_paths = {"organisations.Payment": "payer", "people.Person": "memberships__organisation"}
    tenantless = ["organisations.Country"]

    def values(self, row):
        return TenantValues(slug=row.slug, name=row.slug.title())

    def members(self, row):
        for member in row.members.select_related("person"):
            yield member.person, "member"
