"""The pages of webhooks, whose secret is shown once, and of their deliveries, which can be sent again."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminURLFieldWidget
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from assistant.admin.base.address_fields import AddressField
from assistant.admin.base.filters import TENANT, NewestValuesFilter
from assistant.admin.base.links import link, link_to_list, pretty
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin, TenantForm
from assistant.contrib.panel.admin.base.show_secret_once import (
    AlreadySubmitted,
    SecretIssuingAdmin,
    SingleUseForm,
    new_nonce,
)
from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.deliveries import resend
from assistant.contrib.webhooks.services.events import MAX_WEBHOOKS, new_secret, rotate_secret, send_test
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.services.tenant_events import event_choices
from assistant.toolkit.guards.url_guard import UnsafeUrl

SECRETS = ("secret", "previous_secret")


class WebhookForm(TenantForm, SingleUseForm):
    """The webhook's form: a public URL and the events sent to it."""

    url = AddressField(
        label=gettext_lazy("URL"),
        widget=AdminURLFieldWidget,
        help_text=gettext_lazy(
            "Events are sent there by POST. It must be on the public Internet. Redirects are not followed."
        ),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"), choices=event_choices, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = Webhook
        fields = ("tenant", "name", "url", "events", "is_active")

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if "@" in urlsplit(url).netloc:
            # The guard's message mentions credentials, which a webhook does not have.
            raise forms.ValidationError(
                gettext("Leave out the user name and password: the receiver verifies our signature.")
            )
        try:
            tenant_guard().check(url)
        except UnsafeUrl as exc:
            raise forms.ValidationError(str(exc)) from exc
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant = cleaned.get("tenant")
        if self.instance.pk is None and tenant is not None and tenant.webhooks.count() >= MAX_WEBHOOKS:
            raise forms.ValidationError(gettext("A tenant has at most %(number)d webhooks.") % {"number": MAX_WEBHOOKS})
        return cleaned


@admin.register(Webhook)
class WebhookAdmin(SecretIssuingAdmin):
    """A tenant's webhooks, with buttons that send a test event and rotate the secret."""

    form = WebhookForm
    change_form_template = "admin/assistant/webhooks/change_form.html"
    list_display = ("name", "tenant", "url", "subscribed_events", "is_active", "condition")
    list_filter = (TENANT, "is_active")
    search_fields = ("name", "url")
    list_select_related = ("tenant",)
    readonly_fields = ("condition", "sent", "secret_state")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = ("tenant", "name", "url", "events", "is_active")
        return (*own, "once") if obj is None else (*own, "condition", "secret_state", "sent")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        # Only the add form creates a secret.
        return self.readonly_fields if obj is None else (*self.readonly_fields, "once")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        rows: QuerySet[Webhook] = super().get_queryset(request)
        return rows.defer(*SECRETS)

    @admin.display(description=gettext_lazy("events"))
    def subscribed_events(self, webhook: Webhook) -> str:
        return ", ".join(webhook.events)

    @admin.display(description=gettext_lazy("condition"))
    def condition(self, webhook: Webhook) -> str:
        since = "" if webhook.failing_since is None else f"{webhook.failing_since:%Y-%m-%d %H:%M}"
        if webhook.disabled_at is not None and not webhook.is_active:
            times = {"off": f"{webhook.disabled_at:%Y-%m-%d %H:%M}", "since": since}
            return gettext("Switched off at %(off)s UTC: it had failed since %(since)s.") % times
        return gettext("Fails since %(since)s UTC.") % {"since": since} if since else gettext("No failures known.")

    @admin.display(description=gettext_lazy("messages"))
    def sent(self, webhook: Webhook) -> SafeString:
        return link_to_list(WebhookDelivery, gettext("Deliveries"), webhook__id__exact=webhook.pk)

    @admin.display(description=gettext_lazy("secret"))
    def secret_state(self, webhook: Webhook) -> str:
        until = webhook.previous_secret_until
        if until is not None and until > timezone.now():
            end = {"until": f"{until:%Y-%m-%d %H:%M}"}
            return gettext("Encrypted at rest. The previous one also signs until %(until)s UTC.") % end
        return gettext("Encrypted at rest, and not shown again.")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "nonce": new_nonce()})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            self.claim(request, form, obj.tenant_id)
            obj.secret = obj.shown_once = new_secret()
            super().save_model(request, obj, form, change)
            return
        if obj.is_active and "is_active" in form.changed_data:
            # Switched on again: earlier failures no longer count.
            obj.failing_since = obj.disabled_at = None
        obj.save(update_fields=[*form.changed_data, "failing_since", "disabled_at"])

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_secret(request, obj, obj.shown_once)

    def _show_secret(self, request: HttpRequest, webhook: Webhook, secret: str) -> HttpResponse:
        template = "admin/assistant/webhooks/secret.html"
        return self.show_once(
            request, template, title=gettext("The webhook's signing secret"), row=webhook, secret=secret
        )

    def get_urls(self) -> list[Any]:
        return [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(require_POST(view)),
                name=f"assistant_webhooks_webhook_{name}",
            )
            for name, view in (("test", self.test_view), ("rotate", self.rotate_view))
        ] + super().get_urls()

    def test_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send a test event and redirect to its delivery."""
        delivery = send_test(webhook=self.row_or_404(request, object_id, self.has_change_permission))
        self.message_user(
            request, gettext("A test event is being sent. Reload this page in a moment."), messages.SUCCESS
        )
        return HttpResponseRedirect(reverse("admin:assistant_webhooks_webhookdelivery_change", args=[delivery.pk]))

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Rotate the secret; the old one also signs for a day."""
        webhook = self.row_or_404(request, object_id, self.has_change_permission)
        form = SingleUseForm(request.POST)
        if not form.is_valid():
            self.message_user(request, gettext("The page was too old: press the button again."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:assistant_webhooks_webhook_change", args=[webhook.pk]))
        try:
            with transaction.atomic():
                self.claim(request, form, webhook.tenant_id)
                secret = rotate_secret(webhook=webhook, actor=request.user)
        except AlreadySubmitted:
            return self.already_submitted(request)
        return self._show_secret(request, webhook, secret)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(LongList, ReadOnlyAdmin):
    """Deliveries to webhooks: attempts, the last response, and the time of the next attempt."""

    actions = ("resend",)  # type: ignore[assignment]  # the only read-only list with an action
    change_form_template = "admin/assistant/webhooks/delivery.html"
    list_display = (
        "created_at",
        "event",
        "webhook",
        "status",
        "attempts",
        "response_code",
        "next_try_at",
        "error",
        "tenant",
    )
    list_filter = ("status", ("event", NewestValuesFilter), TENANT, "created_at")
    search_fields = ("message_id", "webhook__name", "error")
    list_select_related = ("tenant", "webhook")
    fields = (
        "message_id",
        "event",
        "webhook_link",
        "tenant",
        "status",
        "attempts",
        "tried_at",
        "next_try_at",
        "response_code",
        "error",
        "duration_ms",
        "text",
        "created_at",
    )
    readonly_fields = ("webhook_link", "text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookDelivery]:
        rows: QuerySet[WebhookDelivery] = super().get_queryset(request)
        return rows.defer(*(f"webhook__{name}" for name in SECRETS))

    @admin.display(description=gettext_lazy("webhook"))
    def webhook_link(self, delivery: WebhookDelivery) -> str:
        return link(delivery.webhook)

    @admin.display(description=gettext_lazy("body"))
    def text(self, delivery: WebhookDelivery) -> SafeString:
        return pretty(delivery.body)

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        return lookup == "webhook__id__exact" or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]

    def _resend(self, request: HttpRequest, delivery: WebhookDelivery) -> None:
        resend(delivery=delivery)
        audit_trail.record(actor=request.user, action="webhook.resend", target=str(delivery), tenant=delivery.tenant)

    @admin.action(description=gettext_lazy("Send selected messages again"), permissions=["view"])
    def resend(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        rows = list(queryset)
        for row in rows:
            self._resend(request, row)
        self.message_user(
            request,
            gettext("Messages that are being sent again: %(number)d.") % {"number": len(rows)},
            messages.SUCCESS,
        )

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.resend_view))
        return [
            path("<path:object_id>/resend/", view, name="assistant_webhooks_webhookdelivery_resend"),
            *super().get_urls(),
        ]

    def resend_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        delivery = self.row_or_404(request, object_id, self.has_view_permission)
        self._resend(request, delivery)
        self.message_user(
            request, gettext("The message is being sent again. Reload this page in a moment."), messages.SUCCESS
        )
        return HttpResponseRedirect(reverse("admin:assistant_webhooks_webhookdelivery_change", args=[delivery.pk]))
