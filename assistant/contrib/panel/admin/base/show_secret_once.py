"""The page that shows a new secret once; it is stored nowhere in plain text, not even in the session.

The page is the response to a POST, which a reload repeats. So each form has a nonce, and creates only one secret.
"""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.contrib import messages
from django.core.signing import BadSignature, TimestampSigner
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.services.form_claims import claim_form, is_form_claimed
from assistant.services.runs.idempotency import LIFETIME

_SIGNER = TimestampSigner(salt="assistant.contrib.panel.admin.base.show_secret_once")


class AlreadySubmitted(Exception):
    """The form was submitted before and has already created its row."""


def new_nonce() -> str:
    """Return a nonce for a form that may be submitted once. It expires after `LIFETIME`, like the record of its use."""
    return _SIGNER.sign(secrets.token_urlsafe(16))


class SingleUseForm(forms.Form):
    """A form that can be submitted once; its response shows a secret."""

    once = forms.CharField(widget=forms.HiddenInput, initial=new_nonce)

    def clean_once(self) -> str:
        nonce: str = self.cleaned_data["once"]
        try:
            return _SIGNER.unsign(nonce, max_age=LIFETIME)
        except BadSignature:
            raise forms.ValidationError(gettext("This form is too old: open it again.")) from None

    @property
    def nonce(self) -> str:
        return str(self.cleaned_data["once"])


class SecretIssuingAdmin(TenantScopedAdmin):
    """The base of pages whose form, a `SingleUseForm`, creates a row with a secret."""

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sent = SingleUseForm(request.POST)
        user_id = request.user.pk
        # Before validation, which would reject the name because the first submission has used it.
        tenants = tenants_of(request, self.permission)
        if sent.is_valid() and is_form_claimed(tenants=tenants, user_id=user_id, nonce=sent.nonce):
            return self.already_submitted(request)
        try:
            return super().add_view(request, *args, **kwargs)
        except AlreadySubmitted:
            return self.already_submitted(request)

    def claim(self, request: HttpRequest, form: SingleUseForm, tenant_id: int) -> None:
        """Use up the nonce of a valid form, in the transaction that creates its row. Raises `AlreadySubmitted`."""
        if not claim_form(tenant_id=tenant_id, user_id=request.user.pk, nonce=form.nonce):
            raise AlreadySubmitted

    def show_once(
        self, request: HttpRequest, template: str, *, title: str, row: models.Model, secret: str
    ) -> HttpResponse:
        """Return the only page that shows a row's secret; `template` extends `admin/assistant/shown_once.html`."""
        own = {"opts": self.opts, "title": title, "row": row, "secret": secret}
        response = TemplateResponse(request, template, {**self.admin_site.each_context(request), **own})
        response.headers["Cache-Control"] = "no-store"
        return response

    def already_submitted(self, request: HttpRequest) -> HttpResponse:
        """Redirect a repeated submission to the list, with a message."""
        text = gettext("This was already created; a secret is shown only once.")
        self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))
