"""Tools whose mistakes are not in what the model reads, or not for every person. Each docstring's second paragraph."""

import base64
import time

from django.contrib.auth import get_user_model
from django.core import signing
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import send_mail
from django.db.models import F, Max, Window
from django.db.models.functions import Rank

from assistant.hosting import host_tenant
from assistant.toolkit import Change, Media, ToolContext, ToolError, ToolResult, tool
from stock.models import Customer, Delivery, Item, Note, Paper, Seat, Shelf


def names():
    return list(Customer.objects.values_list("name", flat=True))


def own_customers(context):
    return Customer.objects.filter(company=host_tenant(context))


@tool(read_only=True)
def customer_card(customer_id: int, context: ToolContext) -> ToolResult:
    """Show a customer.

    The page gets anybody's.
    """
    found = Customer.objects.filter(pk=customer_id).first()
    is_own = found is not None and found.company_id == host_tenant(context).pk
    display = {"name": found.name} if found else None
    return ToolResult(content=found.name if is_own else "There is no such customer.", display=display)


@tool(read_only=True)
def customers_file() -> Media:
    """Return the customers as a file.

    Of everybody.
    """
    return Media("\n".join(names()).encode(), "text/csv", name="customers.csv")


def deleted(arguments, context):
    found = Customer.objects.filter(pk=arguments["customer_id"]).first()
    yield Change("Customer", found.name if found else None, "deleted")


@tool(requires_approval=True, preview=deleted)
def delete_customer(customer_id: int, context: ToolContext) -> str:
    """Delete a customer.

    Who is asked sees anybody's.
    """
    return "deleted" if own_customers(context).filter(pk=customer_id).delete()[0] else "There is no such customer."


@tool(read_only=True, describe=lambda context: f"Say hello to {', '.join(names())}.")
def say_hello() -> str:
    """Say hello.

    The description names everybody's.
    """
    return "hello"


@tool(read_only=True)
def customers_backup() -> str:
    """Return the customers in base64.

    Of everybody.
    """
    return base64.b64encode("\n".join(names()).encode()).decode()


@tool(read_only=True)
def customers_in_capitals() -> list:
    """List the customers in capitals.

    Of everybody.
    """
    return [name.upper() for name in names()]


@tool(read_only=True)
def paper_link(paper_id: int) -> str:
    """Return the address of a paper.

    It is signed, and anybody's.
    """
    found = Paper.objects.filter(pk=paper_id).first()
    return f"/papers/{signing.dumps(found.file.name if found else '')}"


@tool(read_only=True)
def read_paper(path: str) -> str:
    """Read a paper.

    By its path alone.
    """
    if not path.startswith("papers/") or ".." in path or not default_storage.exists(path):
        raise ToolError("There is no such paper.")
    with default_storage.open(path) as file:
        return file.read().decode()


@tool
def mail_customers() -> str:
    """Mail the list of customers.

    Everybody's.
    """
    send_mail("Customers", "\n".join(names()), "stock@x.example", ["boss@x.example"])
    return "sent"


@tool
def keep_customers() -> str:
    """Write the customers into a file.

    Everybody's.
    """
    default_storage.save("kept.csv", ContentFile("\n".join(names()).encode()))
    return "kept"


@tool
def copy_note(delivery_id: int, context: ToolContext) -> str:
    """Copy a delivery's note to the newest one.

    From anybody's.
    """
    found = Delivery.objects.filter(pk=delivery_id).first()
    newest = Delivery.objects.filter(customer__company=host_tenant(context)).last()
    if found is not None and newest is not None:
        Delivery.objects.filter(pk=newest.pk).update(note=found.note)
    return "copied"


@tool
def pin_note(item_id: int, context: ToolContext) -> str:
    """Pin the newest note to an item.

    To anybody's, by a generic foreign key.
    """
    mine = Note.objects.filter(object_id__in=host_tenant(context).item_set.values("pk")).last()
    if mine is not None and Item.objects.filter(pk=item_id).exists():
        Note.objects.filter(pk=mine.pk).update(object_id=item_id)
    return "pinned"


@tool
def clear_notes() -> str:
    """Delete the notes.

    Everybody's, which lead to a company by a generic foreign key alone.
    """
    Note.objects.all().delete()
    return "cleared"


@tool(read_only=True)
def count_customers(context: ToolContext) -> int:
    """Count the customers.

    Admins count everybody's.
    """
    is_admin = Seat.objects.filter(company=host_tenant(context), user_id=context.user.id, role="admin").exists()
    return (Customer.objects.all() if is_admin else own_customers(context)).count()


@tool(read_only=True)
def customers_of_site(context: ToolContext) -> list:
    """List the customers.

    Superusers read everybody's.
    """
    user = get_user_model().objects.get(pk=context.user.id)
    return names() if user.is_superuser else list(own_customers(context).values_list("name", flat=True))


@tool(read_only=True)
def customers_in(context: ToolContext, scope: str = "mine") -> list:
    """List the customers.

    An option that is only named in its description shows everybody's.

    Args:
        scope: "mine" or "network".
    """
    return names() if scope == "network" else list(own_customers(context).values_list("name", flat=True))


@tool(read_only=True)
def rank_deliveries(context: ToolContext) -> list:
    """List the places of deliveries by weight.

    Among everybody's.
    """
    ranked = Delivery.objects.annotate(place=Window(Rank(), order_by=F("weight").desc()))
    company = host_tenant(context).pk
    return [one.place for one in ranked.select_related("customer") if one.customer.company_id == company]


@tool
def add_customer(email: str, context: ToolContext) -> str:
    """Add a customer.

    An address of another company's customer is taken.
    """
    if Customer.objects.filter(email=email).exists():
        raise ToolError("This address is taken.")
    found = Customer.objects.create(company=host_tenant(context), name="New", email=email[:200], api_key="")
    return f"Added as {found.pk}."


@tool(read_only=True)
def items_on(shelf_id: int, context: ToolContext) -> list:
    """List the items on a shelf.

    Another company's too, once one stands there.
    """
    shelf = Shelf.objects.filter(company=host_tenant(context), pk=shelf_id).first()
    return [] if shelf is None else list(shelf.items.values_list("title", flat=True))


@tool(read_only=True)
def heaviest_drive(context: ToolContext) -> str:
    """Give the weight of the heaviest delivery that one of our people has driven.

    Some of them also drive for another company.
    """
    people = get_user_model().objects.filter(seat__company=host_tenant(context))
    return str(people.aggregate(value=Max("delivery__weight"))["value"])


@tool(read_only=True)
def think() -> str:
    """Think.

    For too long.
    """
    time.sleep(5.1)
    return "thought"


__all__ = [name for name, value in list(globals().items()) if hasattr(value, "parameters")]
