"""Makes the shop's tables and companies with an assistant that a model of tests answers, for pages in a browser."""

import os

from preparing import prepare

from assistant.contrib.data.services.reviews import review
from assistant.models import Assistant, Provider, Tenant, ToolSetting
from assistant.services.tenancy.row_scope import all_tenants

TOOLS = ("find_orders", "get_order", "summarise_orders")


@all_tenants()
def show():
    prepare()
    provider = Provider.objects.create(name="tests", base_url=os.environ["MODEL_URL"], default_model="tests")
    for tenant in Tenant.objects.all():
        Assistant.objects.create(tenant=tenant, slug="support", name="Support", provider=provider)
        for tool in TOOLS:
            ToolSetting.objects.create(tenant=tenant, tool=tool, policy="on")
    review(actor=None, is_read_only=False)
