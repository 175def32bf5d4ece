"""How the assistant reads this project's tenants."""

from assistant.hosting import HostTenants, TenantValues
from assistant.models import Assistant


class Accounts(HostTenants):
    tenant_model = "accounts.Account"
    membership_model = "accounts.Seat"

    def values(self, account):
        return TenantValues(slug=account.subdomain, name=account.company, is_active=account.is_paying)

    def members(self, account):
        for seat in account.seats.select_related("person"):
            yield seat.person, "admin" if seat.is_manager else "member"

    def on_created(self, tenant, account):
        Assistant.objects.create(tenant=tenant, slug="helper", name=f"{account.company}'s helper")
