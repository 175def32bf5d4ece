"""Twenty tools, each with a mistake that people make. Each docstring's second paragraph names it."""

from django.core.cache import cache
from django.db import connection
from django.db.models import Avg, Q, Sum

from assistant.hosting import host_tenant
from assistant.toolkit import ToolContext, ToolError, tool
from stock.models import Country, Customer, Delivery, Item


@tool(read_only=True)
def show_delivery(delivery_id: int) -> dict:
    """Show a delivery.

    By its key alone.
    """
    found = Delivery.objects.filter(pk=delivery_id).first()
    return {"note": found.note, "status": found.status} if found else {"note": None}


@tool(read_only=True)
def list_customers() -> list:
    """List the customers.

    Of everybody.
    """
    return list(Customer.objects.values_list("name", flat=True))


@tool(read_only=True)
def count_open_deliveries() -> int:
    """Count the open deliveries.

    Of everybody.
    """
    return Delivery.objects.filter(status="open").count()


@tool(read_only=True)
def average_weight(context: ToolContext) -> str:
    """Give the average weight of deliveries.

    The filter is lost.
    """
    Delivery.objects.filter(customer__company=host_tenant(context))
    return str(Delivery.objects.aggregate(value=Avg("weight"))["value"])


@tool(read_only=True)
def public_items(context: ToolContext) -> list:
    """List the items that customers see.

    `or` goes further than it should.
    """
    company = host_tenant(context)
    return list(Item.objects.filter(Q(company=company) | Q(is_public=True)).values_list("title", flat=True))


@tool(read_only=True)
def has_customer(email: str, context: ToolContext) -> str:
    """Say whether somebody is a customer.

    It tells that another company knows them.
    """
    found = Customer.objects.filter(email=email).first()
    if found is None:
        return "nobody"
    return "a customer" if found.company_id == host_tenant(context).pk else "a customer of somebody else"


@tool
def set_note(delivery_id: int, note: str) -> str:
    """Write a note on a delivery.

    By its key alone.
    """
    Delivery.objects.filter(pk=delivery_id).update(note=note)
    return "written"


@tool
def cancel_delivery(number: int) -> str:
    """Cancel a delivery.

    By its number alone.
    """
    Delivery.objects.filter(number=number).delete()
    return "cancelled"


@tool
def move_delivery(delivery_id: int, item_id: int, context: ToolContext) -> str:
    """Send another item with a delivery.

    The item is anybody's.
    """
    own = Delivery.objects.filter(customer__company=host_tenant(context), pk=delivery_id)
    if not own.exists() or not Item.objects.filter(pk=item_id).exists():
        raise ToolError("There is no such delivery or item.")
    own.update(item_id=item_id)
    return "moved"


@tool(read_only=True)
def export_customers(context: ToolContext) -> list:
    """Export the customers.

    With their keys.
    """
    return list(Customer.objects.filter(company=host_tenant(context)).values())


@tool(read_only=True)
def items_of(company: str) -> list:
    """List the items of a company.

    The model says which company.
    """
    return list(Item.objects.filter(company__slug=company).values("sku", "title"))


@tool(read_only=True)
def heaviest_customers(context: ToolContext) -> list:
    """List the customers with the heaviest deliveries.

    SQL without a filter.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT c.name FROM stock_customer c JOIN stock_delivery d ON d.customer_id = c.id ORDER BY 1")
        return [name for (name,) in cursor.fetchall()]


@tool(read_only=True)
def item_titles(context: ToolContext) -> list:
    """List the titles of items.

    What is remembered is not the company's.
    """
    titles = cache.get("titles")
    if titles is None:
        titles = list(Item.objects.filter(company=host_tenant(context)).values_list("title", flat=True))
        cache.set("titles", titles)
    return titles


@tool(read_only=True)
def last_delivery(context: ToolContext) -> dict:
    """Show the delivery with the highest number.

    The first of all, and then whether it is the company's.
    """
    found = Delivery.objects.order_by("-number").first()
    is_own = found is not None and found.customer.company_id == host_tenant(context).pk
    return {"number": found.number} if is_own else {"number": None}


@tool(read_only=True)
def my_items(context: ToolContext) -> list:
    """List the items of the person's companies.

    A person can be in several.
    """
    return list(Item.objects.filter(company__seats__user_id=context.user.id).values_list("title", flat=True))


@tool(read_only=True)
def customers_of_country(country_id: int) -> list:
    """List the customers in a country.

    A country is everybody's.
    """
    country = Country.objects.filter(pk=country_id).first()
    return [customer.name for customer in country.customer_set.all()] if country else []


@tool(read_only=True)
def check_delivery(number: int, context: ToolContext) -> str:
    """Check a delivery.

    The refusal says whose it is.
    """
    found = Delivery.objects.filter(number=number).select_related("customer").first()
    if found is None or found.customer.company_id != host_tenant(context).pk:
        raise ToolError(f"This is no delivery of yours{f', but of {found.customer.name}' if found else ''}.")
    return found.status


@tool(read_only=True)
def take_stock(sku: str, context: ToolContext) -> str:
    """Look up how many pieces of an item there are.

    It writes.
    """
    found = Item.objects.filter(company=host_tenant(context), sku=sku)
    found.update(title="looked at")
    return str(found.aggregate(value=Sum("pieces"))["value"])


@tool
def close_deliveries() -> str:
    """Mark all open deliveries as sent.

    Of everybody.
    """
    Delivery.objects.filter(status="open").update(status="sent")
    return "closed"


@tool(read_only=True)
def deliveries_of(customer_id: int, context: ToolContext) -> int:
    """Count a customer's deliveries.

    It raises.
    """
    customer = Customer.objects.get(pk=customer_id, company=host_tenant(context))
    return customer.delivery_set.count()


__all__ = [name for name, value in list(globals().items()) if hasattr(value, "parameters")]
