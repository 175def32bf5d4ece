"""Tools like the leaky ones, without their mistakes."""

from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.mail import send_mail
from django.db.models import Avg, Max, Q
from django.utils import timezone

from assistant.hosting import host_tenant
from assistant.toolkit import Change, ToolContext, ToolError, ToolResult, tool
from stock.models import Customer, Delivery, Item, Note, Paper, Shelf


def own_deliveries(context):
    return Delivery.objects.filter(customer__company=host_tenant(context))


@tool(read_only=True)
def show_delivery(delivery_id: int, context: ToolContext) -> dict:
    """Show a delivery."""
    found = own_deliveries(context).filter(pk=delivery_id).first()
    if found is None:
        raise ToolError(f"There is no delivery {delivery_id}.")
    return {"note": found.note, "status": found.status}


@tool(read_only=True)
def list_customers(context: ToolContext, search: str = "") -> list:
    """List the customers."""
    customers = Customer.objects.filter(company=host_tenant(context), name__icontains=search)
    return list(customers.values("id", "name", "country__name"))


@tool(read_only=True)
def average_weight(context: ToolContext, status: str = "") -> str:
    """Give the average weight of deliveries."""
    found = own_deliveries(context).filter(Q(status=status) if status else Q())
    return str(found.aggregate(value=Avg("weight"))["value"])


@tool
def set_note(delivery_id: int, note: str, context: ToolContext) -> str:
    """Write a note on a delivery."""
    if not own_deliveries(context).filter(pk=delivery_id).update(note=note):
        raise ToolError("There is no such delivery.")
    return f"Written: {note}"


@tool
def order_item(sku: str, pieces: int, customer_id: int, context: ToolContext) -> str:
    """Order an item for a customer."""
    company = host_tenant(context)
    item = Item.objects.filter(company=company, sku=sku).first()
    customer = Customer.objects.filter(company=company, pk=customer_id).first()
    if item is None or customer is None:
        raise ToolError("There is no such item or customer.")
    if not 0 < pieces <= item.pieces:
        raise ToolError(f"Between 1 and {item.pieces} pieces can be ordered, not {pieces}.")
    number = (own_deliveries(context).order_by("-number").values_list("number", flat=True).first() or 0) + 700_000
    Delivery.objects.create(
        customer=customer, item=item, number=number, weight=1, status="open", left_on=timezone.now().date()
    )
    return f"Ordered {pieces}: delivery {number}."


@tool(read_only=True)
def item_titles(context: ToolContext) -> list:
    """List the titles of items."""
    company = host_tenant(context)
    return cache.get_or_set(f"titles-{company.pk}", lambda: list(company.item_set.values_list("title", flat=True)))


def renamed(arguments, context):
    found = Customer.objects.filter(company=host_tenant(context), pk=arguments["customer_id"]).first()
    if found is None:
        raise ToolError("There is no such customer.")
    yield Change("Name", found.name, arguments["name"])


@tool(requires_approval=True, preview=renamed)
def rename_customer(customer_id: int, name: str, context: ToolContext) -> ToolResult:
    """Rename a customer."""
    if not Customer.objects.filter(company=host_tenant(context), pk=customer_id).update(name=name[:80]):
        raise ToolError("There is no such customer.")
    return ToolResult(content="Renamed.", display={"name": name})


@tool
def pin_note(item_id: int, text: str, context: ToolContext) -> str:
    """Pin a note to an item."""
    item = Item.objects.filter(company=host_tenant(context), pk=item_id).first()
    if item is None:
        raise ToolError("There is no such item.")
    found = Note.objects.create(about=item, text=text[:100])
    return f"Pinned as {found.pk}."


@tool
def mail_papers(context: ToolContext) -> str:
    """Mail the names of papers."""
    papers = Paper.objects.filter(delivery__customer__company=host_tenant(context))
    send_mail("Papers", "\n".join(papers.values_list("file", flat=True)), "stock@x.example", ["boss@x.example"])
    return "sent"


@tool(read_only=True)
def items_on(shelf_id: int, context: ToolContext) -> list:
    """List the items on a shelf."""
    company = host_tenant(context)
    shelf = Shelf.objects.filter(company=company, pk=shelf_id).first()
    return [] if shelf is None else list(shelf.items.filter(company=company).values_list("title", flat=True))


@tool(read_only=True)
def heaviest_drive(context: ToolContext) -> str:
    """Give the weight of the heaviest delivery that one of our people has driven for us."""
    return str(own_deliveries(context).filter(driver__isnull=False).aggregate(value=Max("weight"))["value"])


@tool(read_only=True)
def people(context: ToolContext) -> list:
    """List the people, and for how many of our deliveries they have driven."""
    names = []
    for person in get_user_model().objects.filter(seat__company=host_tenant(context)).order_by("pk"):
        driven = own_deliveries(context).filter(driver=person).count()
        names.append(f"{person.get_username()}: {driven}")
    return names


@tool(read_only=True)
def clock() -> str:
    """Tell the time."""
    return timezone.now().isoformat()


__all__ = [name for name, value in list(globals().items()) if hasattr(value, "parameters")]
