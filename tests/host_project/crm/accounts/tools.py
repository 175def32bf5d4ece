"""A tool on the project's own rows, of the tenant that asks."""

from decimal import Decimal

from accounts.models import Invoice
from assistant.hosting import host_tenant
from assistant.toolkit import ToolContext, tool


@tool(enabled_by_default=True)
def list_invoices(context: ToolContext) -> dict[str, object]:
    """List the invoices of the asker's company."""
    account = host_tenant(context)
    totals: dict[int, Decimal] = dict(Invoice.objects.filter(account=account).values_list("number", "total"))
    return {"company": account.company, "asker": str(context.user.id), "invoices": totals}
