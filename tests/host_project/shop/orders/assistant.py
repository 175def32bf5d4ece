"""How the assistant reads companies, and what it may find."""

from assistant.contrib.data import KnowledgeSource, expose, expose_viewset
from assistant.hosting import HostTenants, TenantValues
from django.db.models import Q
from orders.models import Article, Country, Customer, Line, Order, Payment, Stray
from orders.views import CampaignViewSet, CustomerViewSet, OrderViewSet


class Host(HostTenants):
    tenant_model = "orders.Company"
    membership_model = "orders.Seat"
    tenant_paths = {"orders.Payment": "payer"}
    tenantless = ["orders.Country"]

    def values(self, row):
        return TenantValues(slug=row.slug, name=row.slug.title(), timezone="Europe/Vienna")

    def members(self, row):
        for seat in row.seats.select_related("person"):
            yield seat.person, seat.role


def not_hidden(customers, context):
    return customers.exclude(name="Hidden")


def for_the_reader(articles, context):
    return articles.filter(Q(reader=None) | Q(reader=context.user.id))


expose(
    Order,
    fields=[
        "number", "status", "total", "is_gift", "placed_at", "due_on", "comment",
        "customer", "customer__name", "customer__country__name", "seller__email", "api_key",
    ],
    filters=[
        "number", "status", "total", "is_gift", "placed_at", "due_on", "comment",
        "customer", "customer__name", "customer__country__name", "lines__article", "lines__pieces",
    ],
)  # fmt: skip
expose(Customer, fields=["name", "email", "country__code"], visible_to=not_hidden)
expose(Line, fields=["article", "pieces", "order", "order__number", "order__customer__name"])
expose(Payment, fields=["amount", "iban"])
expose(Country, fields=["code", "name"], plural="countries")
expose(Stray, fields=["text"])
expose(Article, fields=["title"], visible_to=for_the_reader)
KnowledgeSource(Article.objects.published(), text="body", title="title", kind="html")
expose_viewset(
    OrderViewSet,
    actions=[
        "list",
        "retrieve",
        "create",
        "partial_update",
        "destroy",
        "close",
        "mine",
        "totals",
    ],
    name="api_order",
    plural="api_orders",
)
expose_viewset(CustomerViewSet, name="api_customer")
expose_viewset(CampaignViewSet, name="api_campaign")
