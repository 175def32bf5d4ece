"""The parts of an API key's page besides the form: its recent use, and its replacement by a new key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.show_secret_once import (
    AlreadySubmitted,
    SecretIssuingAdmin,
    SingleUseForm,
    new_nonce,
)
from assistant.contrib.panel.reports.key_use import DAYS, use_of_key
from assistant.contrib.panel.services.key_rotation import KeyNotRotated, may_rotate, rotate_api_key
from assistant.models import ApiKey
from assistant.services.tenancy.api_keys import works

# How long the old key still works, in hours.
GRACE = ((0, _("ends at once")), (1, _("ends in an hour")), (24, _("ends in a day")), (168, _("ends in a week")))


class RotateForm(SingleUseForm):
    """When the old key ends."""

    grace = forms.TypedChoiceField(choices=GRACE, coerce=int, label=_("The old key"))


class KeyPages(SecretIssuingAdmin):
    """The page of a key, with its use, and the address that replaces it."""

    change_form_template = "admin/assistant/apikey/change_form.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        key = self.get_object(request, object_id)
        own: dict[str, Any] = {"nonce": new_nonce()}
        if isinstance(key, ApiKey) and self.has_view_permission(request, key):
            own |= {
                "use": use_of_key(key=key),
                "use_days": DAYS,
                # A role that manages keys need not read conversations.
                "opens_runs": is_operator(request) or key.tenant_id in permitted_of(request).tenants("read_chats"),
                "may_rotate": works(key) and may_rotate(actor=request.user, key=key),
                "grace": GRACE,
            }
        return super().change_view(request, object_id, form_url, {**own, **(extra_context or {})})

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.rotate_view))
        return [path("<path:object_id>/rotate/", view, name="assistant_apikey_rotate"), *super().get_urls()]

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Replace this key by a new one, and show that once."""
        key = self.row_or_404(request, object_id, self.has_view_permission)
        back = HttpResponseRedirect(reverse("admin:assistant_apikey_change", args=[key.pk]))
        form = RotateForm(request.POST)
        if not form.is_valid():
            self.message_user(request, gettext("The page was too old: press the button again."), messages.WARNING)
            return back
        try:
            with transaction.atomic():
                self.claim(request, form, key.tenant_id)
                grace = timedelta(hours=form.cleaned_data["grace"])
                made, secret = rotate_api_key(key=key, grace=grace, actor=request.user)
        except AlreadySubmitted:
            return self.already_submitted(request)
        except KeyNotRotated as exc:
            self.message_user(request, str(exc), messages.ERROR)
            return back
        template = "admin/assistant/apikey/made.html"
        return self.show_once(request, template, title=gettext("The new API key"), row=made, secret=secret)
