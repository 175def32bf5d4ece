"""Two companies of the shop with the same kinds of rows, and references between them that should not be there."""

import datetime as dt
from dataclasses import dataclass, field

from orders.models import Campaign, Company, Country, Customer, Line, Order, Payment, Seat, Stray
from people.models import Person

from assistant.models import Membership, Tenant
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit import ToolContext
from assistant.toolkit.context import TenantInfo, UserInfo

HIDDEN = "hidden"  # in each column that no tool shows
SLUGS = ("acme", "globex")


@dataclass
class Staged:
    """A company with its rows and people."""

    company: Company
    people: list[Person]
    end_user: Person
    rows: dict[str, list] = field(default_factory=dict)


@all_tenants()
def stage(orders=12):
    """Make both companies; return them by slug. `both@` is a member of both, `staff@` works for the site."""
    both = Person.objects.create_user("both@shop.example", "x")
    staff = Person.objects.create_superuser("staff@shop.example", "x")
    countries = [Country.objects.create(code=code, name=name) for code, name in (("at", "Austria"), ("de", "Germany"))]
    staged = {slug: _company(slug, [both, staff], countries, orders) for slug in SLUGS}
    for slug, other in zip(SLUGS, reversed(SLUGS), strict=True):
        # An order with another company's customer and seller.
        mine = staged[slug].rows["Order"][0]
        Order.objects.filter(pk=mine.pk).update(
            customer=staged[other].rows["Customer"][0], seller=staged[other].people[0]
        )
        # And a campaign for one of the other's customers.
        staged[slug].rows["Campaign"][0].customers.add(staged[other].rows["Customer"][1])
    Stray.objects.create(text=HIDDEN)
    return staged


def _company(slug, shared, countries, orders):
    company = Company.objects.create(slug=slug, billing_code=HIDDEN)
    own = Person.objects.create_user(f"ada@{slug}.example", "x", known_as_name=f"ada-{slug}")
    visitor = Person.objects.create_user(f"visitor@{slug}.example", "x")
    for person, role in ((own, "member"), (shared[0], "member"), (shared[1], "admin")):
        Seat.objects.create(company=company, person=person, role=role)
    Membership.objects.create(tenant=Tenant.objects.get(slug=slug), user=visitor, role=Membership.Role.END_USER)
    customers = [
        Customer.objects.create(
            company=company, name=f"{slug}-customer-{number}", email=f"c{number}@{slug}.example",
            country=countries[number % 2], portal_token=HIDDEN, credit_note=HIDDEN,
        )
        for number in range(4)
    ]  # fmt: skip
    Customer.objects.create(company=company, name="Hidden", email=f"{HIDDEN}@{slug}.example")
    placed = dt.datetime(2031, 1, 31, 23, 30, tzinfo=dt.UTC)
    made = [
        Order.objects.create(
            company=company, customer=customers[number % 4], number=100 + number, total=number * 10,
            status=("open", "paid", "sent")[number % 3], placed_at=placed + dt.timedelta(days=number),
            due_on=dt.date(2031, 3, 1 + number % 20), comment=f"{slug}-comment-{number}", seller=own, api_key=HIDDEN,
            is_deleted=number == orders - 1, margin=777,
        )
        for number in range(orders)
    ]  # fmt: skip
    lines = [Line.objects.create(order=order, article=f"{slug}-lamp", pieces=order.number % 5) for order in made]
    payments = [Payment.objects.create(payer=company.pk, amount=5, iban=f"{slug}-iban")]
    campaigns = [
        Campaign.objects.create(company=company, name=f"{slug}-{name}", begins_on=dt.date(2031, month, 1))
        for name, month in (("spring", 3), ("summer", 6))
    ]
    campaigns[0].customers.set(customers[:2])
    rows = {"Customer": customers, "Order": made, "Line": lines, "Payment": payments, "Campaign": campaigns}
    return Staged(company, [own, *shared], visitor, rows)


@all_tenants()
def context_for(slug, person):
    """Return the context of a call in a company."""
    tenant = Tenant.objects.get(slug=slug)
    assert Membership.objects.filter(tenant=tenant, user=person).exists()
    info = TenantInfo(tenant.pk, tenant.slug, tenant.name, tenant.timezone, tenant.external_id or "")
    return ToolContext(tenant=info, user=UserInfo(person.pk, person.email))
