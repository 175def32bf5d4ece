"""The pages of the control panel: what embeds documents, and how far it is."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex
from assistant.contrib.embeddings.services.changes import FILL_JOB, embed_anew
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.models.knowledge import Passage


class SwitchedAdmin(TenantScopedAdmin):
    """The base of pages that are there while documents are embedded at all."""

    def may(self, request: HttpRequest, action: str) -> bool:
        return settings.ASSISTANT_EMBEDDINGS and super().may(request, action)


@admin.register(EmbeddingChoice)
class EmbeddingChoiceAdmin(SwitchedAdmin):
    """What embeds a tenant's documents; operators choose for all that have no choice of their own."""

    list_display = ("__str__", "tenant", "is_on", "provider")
    list_filter = (TENANT, "is_on")
    list_select_related = ("tenant", "provider")
    fields = ("tenant", "is_on", "provider", "model")


@admin.register(EmbeddingIndex)
class EmbeddingIndexAdmin(SwitchedAdmin):
    """How many passages of each tenant have vectors, by what; made by the program, and changed by nobody."""

    possible_actions = frozenset({"view"})
    tenant_admins_may = frozenset({"view"})
    list_display = ("encoder", "tenant", "embedded", "built_at", "problem")
    list_filter = (TENANT,)
    list_select_related = ("tenant",)
    actions = ("anew",)
    fields = ("tenant", "encoder", "embedded", "built_at", "problem")

    def get_queryset(self, request: HttpRequest) -> QuerySet[EmbeddingIndex]:
        rows: QuerySet[EmbeddingIndex] = super().get_queryset(request)
        return rows.annotate(count=Count("vectors"))

    @admin.display(description=gettext_lazy("passages with vectors"))
    def embedded(self, obj: Any) -> str:
        passages = Passage.objects.filter(tenant_id=obj.tenant_id).count()
        return _("%(count)d of %(passages)d") % {"count": obj.count, "passages": passages}

    def has_anew_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.action(description=gettext_lazy("Embed anew"), permissions=["anew"])
    def anew(self, request: HttpRequest, queryset: QuerySet[EmbeddingIndex]) -> None:
        tenants = {row.tenant_id: row.tenant for row in queryset.select_related("tenant")}
        again_at = {tenant: embed_anew(tenant=tenant, actor=request.user) for tenant in tenants.values()}
        for tenant, at in again_at.items():
            if at is not None:
                told = _("The documents of %(tenant)s can be embedded anew again at %(time)s: once an hour.")
                shown = date_format(timezone.localtime(at), "SHORT_DATETIME_FORMAT")
                self.message_user(request, told % {"tenant": tenant.name, "time": shown}, messages.WARNING)
        begun = sum(at is None for at in again_at.values())
        if begun:
            told = ngettext(
                "The documents of %(n)d tenant are embedded anew.",
                "The documents of %(n)d tenants are embedded anew.",
                begun,
            )
            self.message_user(request, told % {"n": begun})


show_in_room("settings", EmbeddingChoice, after="provider")
show_in_room("settings", EmbeddingIndex, after="embeddingchoice")
describe_empty_list(
    "embeddingchoice",
    gettext_lazy("Documents are embedded by the model on this machine. Add a choice to have a provider's vectors."),
)
describe_empty_list("embeddingindex", gettext_lazy("No documents have been embedded yet."))
describe_job(FILL_JOB, gettext_lazy("Embed documents"))
