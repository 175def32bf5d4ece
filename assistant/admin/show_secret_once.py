"""The page that shows a new secret, which is kept nowhere in the clear: not in the session either.

It is the answer to a POST, which a browser sends again when the page is reloaded: the form carries a nonce, and makes a
secret but once.
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
from django.urls import reverse

from assistant.admin.tenant_scope import TenantScopedAdmin, tenants_of
from assistant.services.runs.idempotency import LIFETIME, claim_form, is_form_claimed

_SIGNER = TimestampSigner(salt="assistant.admin.show_secret_once")


class MadeAlready(Exception):
    """The form was sent before, and has made what it makes."""


def new_nonce() -> str:
    """What a form brings along to be sent once; good for as long as it is remembered that it was sent."""
    return _SIGNER.sign(secrets.token_urlsafe(16))


class OnceForm(forms.Form):
    """A form whose answer shows a secret."""

    once = forms.CharField(widget=forms.HiddenInput, initial=new_nonce)

    def clean_once(self) -> str:
        nonce: str = self.cleaned_data["once"]
        try:
            return _SIGNER.unsign(nonce, max_age=LIFETIME)
        except BadSignature:
            raise forms.ValidationError("This form is too old: open it again.") from None

    @property
    def nonce(self) -> str:
        return str(self.cleaned_data["once"])


class MakesSecrets(TenantScopedAdmin):
    """The base of pages whose form, an `OnceForm`, makes a row with a secret."""

    made: str

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sent = OnceForm(request.POST)
        user_id = request.user.pk
        # Before the form is judged: what it made may stand in its own way, by a name that is taken.
        if sent.is_valid() and is_form_claimed(tenants=tenants_of(request), user_id=user_id, nonce=sent.nonce):
            return self.made_already(request, self.made)
        try:
            return super().add_view(request, *args, **kwargs)
        except MadeAlready:
            return self.made_already(request, self.made)

    def claim(self, request: HttpRequest, form: OnceForm, tenant_id: int) -> None:
        """Take the nonce of a valid form, in the transaction of what it makes. Raises `MadeAlready`."""
        if not claim_form(tenant_id=tenant_id, user_id=request.user.pk, nonce=form.nonce):
            raise MadeAlready

    def show_once(
        self, request: HttpRequest, template: str, *, title: str, row: models.Model, secret: str
    ) -> HttpResponse:
        """Show a row's secret: it is this answer or never. The template extends `admin/assistant/shown_once.html`."""
        own = {"opts": self.opts, "title": title, "row": row, "secret": secret}
        response = TemplateResponse(request, template, {**self.admin_site.each_context(request), **own})
        response.headers["Cache-Control"] = "no-store"
        return response

    def made_already(self, request: HttpRequest, what: str) -> HttpResponse:
        """Lead whoever sent a form again to the list, and say why they are there."""
        self.message_user(request, f"This {what} was made already; a secret is shown only once.", messages.WARNING)
        return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))
