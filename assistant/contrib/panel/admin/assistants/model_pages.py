"""The views behind the model fields of an assistant's form: a test, and the models that the provider lists."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin, choices_of
from assistant.contrib.panel.services.provider_check import Check, check_assistant, default_choice_of, models_of
from assistant.models import Assistant, Provider, Tenant
from assistant.services.assistants.provider_choice import choose_provider


class ModelPages(TenantScopedAdmin):
    """The addresses of the test and of the list of models."""

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("models/", wrap(require_safe(self.models_view)), name="assistant_assistant_models"),
            path("<path:object_id>/test/", wrap(require_POST(self.test_view)), name="assistant_assistant_test"),
            *super().get_urls(),
        ]

    def test_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask the provider and model that the assistant answers with, and say what it answered."""
        assistant = self.row_or_404(request, object_id, self.has_change_permission)
        found = _or_locked(lambda: check_assistant(assistant=assistant))
        self.message_user(request, found.sentence, messages.SUCCESS if found.is_good else messages.ERROR)
        return HttpResponseRedirect(reverse("admin:assistant_assistant_change", args=[assistant.pk]))

    def models_view(self, request: HttpRequest) -> HttpResponse:
        """Return the models of the chosen provider, or of the one that a chosen tenant's assistants have, as JSON."""
        if not self.has_change_permission(request):
            raise Http404("There is no such page.")
        provider, tenant = (
            _chosen(request, name, model) for name, model in (("provider", Provider), ("tenant", Tenant))
        )
        if provider is None and tenant is None:
            return JsonResponse({"sentence": gettext("Choose a provider or a tenant first."), "models": []})
        if provider is not None:
            found = _or_locked(lambda: models_of(default_choice_of(provider)))
        else:
            found = _or_locked(lambda: models_of(choose_provider(Assistant(tenant=tenant))))
        return JsonResponse({"sentence": found.sentence, "models": found.models})


def _chosen(request: HttpRequest, name: str, model: Any) -> Any:
    """Return the row that a field of the form names, of those that the form offers; None if there is no such row."""
    pk = request.GET.get(name, "")
    if not (pk.isascii() and pk.isdigit() and len(pk) < 19):
        return None
    return choices_of(request, model).filter(pk=int(pk)).first()


def _or_locked(ask: Any) -> Check:
    """Return the answer, or that the stored key cannot be read."""
    try:
        found: Check = ask()
    except ImproperlyConfigured:
        return Check(False, gettext("No key of this deployment decrypts the provider's API key."))
    return found
