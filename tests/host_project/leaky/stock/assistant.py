"""How the assistant reads companies, and what it may find."""

from assistant.contrib.data import expose
from assistant.hosting import HostTenants, TenantValues
from stock.models import Customer, Delivery, Item, Seat


class Host(HostTenants):
    tenant_model = "stock.Company"
    membership_model = "stock.Seat"
    tenantless = ["stock.Country"]

    def values(self, row):
        return TenantValues(slug=row.slug, name=row.name)

    def members(self, row):
        for seat in Seat.objects.filter(company=row).select_related("user"):
            yield seat.user, seat.role


expose(Customer, fields=["name", "email", "country__name"])
expose(Item, fields=["sku", "title", "pieces", "is_public"])
expose(Delivery, fields=["number", "status", "weight", "left_on", "note", "customer", "customer__name", "item__title"])
