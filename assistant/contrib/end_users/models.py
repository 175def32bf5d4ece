"""A tenant's end users, who chat through a widget in the tenant's own product, and the origins that may embed it."""

from __future__ import annotations

import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant

_ORIGIN = re.compile(r"(https?)://(?:[a-z0-9-]+\.)*[a-z0-9-]+(?::([1-9][0-9]{0,4}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def validate_origin(origin: str) -> None:
    """Raise `ValidationError` unless `origin` has the form that browsers send: scheme, host, any non-default port."""
    match = _ORIGIN.fullmatch(origin)
    if match is None or match[2] == _DEFAULT_PORTS[match[1]]:
        raise ValidationError(
            _("“%(origin)s” is not an origin such as https://shop.example.com: lower case, no path, no default port."),
            params={"origin": origin},
        )


class WidgetOrigin(models.Model):
    """An origin whose pages may embed an assistant for the tenant's end users; pages without a row may not."""

    tenant = models.ForeignKey(
        Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="widget_origins"
    )
    assistant = models.ForeignKey(
        Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="widget_origins"
    )
    origin = models.CharField(
        _("origin"),
        max_length=255,
        validators=[validate_origin],
        help_text=_(
            "As browsers name it: https://shop.example.com. Every end user of that site may talk to the "
            "assistant, with the tools that are on for it."
        ),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("widget origin")
        verbose_name_plural = _("widget origins")
        ordering = ["origin"]
        constraints = [models.UniqueConstraint(fields=["tenant", "assistant", "origin"], name="one_row_per_origin")]

    def __str__(self) -> str:
        return gettext("%(assistant)s at %(origin)s") % {"assistant": self.assistant, "origin": self.origin}


class EndUser(models.Model):
    """One of a tenant's own end users, identified by the id that the tenant's backend gives them.

    Each has a `user` row of their own, without a password and unable to sign in, so that everything personal to users
    (conversations, runs, limits) applies to end users unchanged.
    """

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="end_users")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assistant_end_user")
    external_id = models.CharField(
        _("external id"), max_length=128, help_text=_("The tenant's own id of the end user.")
    )
    name = models.CharField(_("name"), max_length=200, blank=True)
    context = models.JSONField(
        _("context"), default=dict, blank=True, help_text=_("Available to tools, never sent to the model.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    seen_at = models.DateTimeField(_("seen at"), help_text=_("When the last token was issued."))

    class Meta:
        verbose_name = _("end user")
        verbose_name_plural = _("end users")
        ordering = ["-seen_at"]
        constraints = [models.UniqueConstraint(fields=["tenant", "external_id"], name="one_end_user_per_external_id")]

    def __str__(self) -> str:
        return self.name or self.external_id
