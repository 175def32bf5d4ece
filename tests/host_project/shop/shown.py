"""Makes the shop's tables and companies with an assistant that a model of tests answers, for pages in a browser."""

import os

from preparing import prepare

from assistant.contrib.data.services.reviews import review
from assistant.models import Assistant, Provider, Tenant, ToolSetting
from assistant.services.tenancy.row_scope import all_tenants
from orders.models import Customer

TOOLS = ("find_orders", "get_order", "summarise_orders", "find_customers", "summarise_customers")
FORMULA = "=1+2"


@all_tenants()
def show():
    companies = prepare()
    Customer.objects.create(company=companies["acme"].company, name=FORMULA, email="formula@acme.example")
    provider = Provider.objects.create(name="tests", base_url=os.environ["MODEL_URL"], default_model="tests")
    for tenant in Tenant.objects.all():
        Assistant.objects.create(tenant=tenant, slug="support", name="Support", provider=provider)
        for tool in TOOLS:
            ToolSetting.objects.create(tenant=tenant, tool=tool, policy="on")
    review(actor=None, is_read_only=False)
