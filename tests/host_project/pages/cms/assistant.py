"""How the assistant reads sites, and what it may find."""

from assistant.contrib.data import expose
from assistant.hosting import HostTenants, TenantValues
from cms.models import Event, Page


class Host(HostTenants):
    tenant_model = "cms.Site"
    tenantless = ["cms.Topic"]

    def values(self, row):
        return TenantValues(slug=row.slug, name=row.slug, timezone="Europe/Vienna")

    def members(self, row):
        for user in row.editors.all():
            yield user, "member"


expose(Page, fields=["title", "path", "depth", "parent", "parent__title", "author__username"], manager="published")
expose(
    Event,
    fields=["title", "starts_on", "seats", "price", "topic__name", "parent__title", "parent__parent__title"],
    filters=["title", "starts_on", "seats", "price", "topic__name", "parent__title", "parent__children__title"],
    manager="published",
)
