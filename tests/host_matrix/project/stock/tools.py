"""Tools that query without a word about whose rows they want."""

from threading import get_ident

from django.db import connection
from django_tenants.utils import schema_context

from assistant.hosting import host_tenant
from assistant.toolkit import ToolContext, tool
from stock.models import Bill


@tool(enabled_by_default=True)
def list_invoices(context: ToolContext) -> dict[str, object]:
    """List the invoices of the asker's firm."""
    return {"company": host_tenant(context).name, "invoices": dict(Bill.objects.values_list("number", "total"))}


@tool(enabled_by_default=True)
async def count_invoices() -> dict[str, object]:
    """Count the invoices of the asker's firm."""
    return {"total": [str(bill.total) async for bill in Bill.objects.all()]}


@tool(enabled_by_default=True)
def wander() -> dict[str, object]:
    """Leave the connection in another firm's schema, as a careless tool would."""
    with schema_context("globex" if connection.schema_name == "acme" else "acme"):
        elsewhere = [str(bill.total) for bill in Bill.objects.all()]
    found = [str(bill.total) for bill in Bill.objects.all()]
    connection.set_schema("globex" if connection.schema_name == "acme" else "acme")
    return {"total": found, "elsewhere": elsewhere, "thread": get_ident()}
