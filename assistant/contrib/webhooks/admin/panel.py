"""What the pages of the control panel show of webhooks."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext_lazy, ngettext

from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.reports.needs import Item, items_of, look_for, unreadable_items
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.webhooks.admin import webhooks  # noqa: F401 - it registers
from assistant.contrib.webhooks.models import Webhook, WebhookDelivery

FAILING = "webhook"
UNREADABLE = "unreadable-webhook"
_LIST = "assistant_webhooks_webhook_changelist"
_PAGE = "assistant_webhooks_webhook_change"


def failing_webhooks(tenants: TenantFilter) -> list[Item]:
    """Return the webhooks that fail, and those that were switched off because of it."""
    failing = Q(is_active=True, failing_since__isnull=False) | Q(disabled_at__isnull=False)
    return items_of(tenants.rows(Webhook.objects.filter(failing)).order_by("-failing_since"), "name")


def unreadable_webhooks(tenants: TenantFilter) -> list[Item]:
    """Return the webhooks with a secret that cannot be decrypted."""
    return unreadable_items(Webhook, "name", tenants)


show_in_room("settings", Webhook, after="apikey")
show_in_room("settings", WebhookDelivery, after="webhook")
describe_empty_list("webhook", gettext_lazy("There are no webhooks. Add one to have events sent to a server of yours."))
describe_empty_list("webhookdelivery", gettext_lazy("No event has been sent yet."))
look_for(FAILING, failing_webhooks, after="limit")
describe_need(
    FAILING,
    sentence=lambda n: ngettext("%(n)s webhook fails", "%(n)s webhooks fail", n),
    every=_LIST,
    page=_PAGE,
)
look_for(UNREADABLE, unreadable_webhooks, after="unreadable-provider")
describe_need(
    UNREADABLE,
    sentence=lambda n: ngettext(
        "%(n)s webhook has a secret that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
        "%(n)s webhooks have secrets that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
        n,
    ),
    every=_LIST,
    page=_PAGE,
)
