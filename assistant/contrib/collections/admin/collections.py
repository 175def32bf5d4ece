"""The page of collections: who may read each, and what is in it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.models import Document, Membership


class CollectionForm(TenantForm):
    """What a collection asks of its readers; once it is stored, its documents too."""

    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"),
        choices=Membership.Role.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=Collection._meta.get_field("roles").help_text,
    )
    documents = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Documents"),
        queryset=Document.objects.none(),
        required=False,
        widget=FilteredSelectMultiple(gettext_lazy("documents"), is_stacked=False),
        help_text=gettext_lazy("Each is in one collection at most. Those in none are for everybody in the tenant."),
    )

    class Meta:
        model = Collection
        fields = ("tenant", "name", "description", "roles", "permission", "for_chosen_assistants", "assistants")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "documents" in self.fields and self.instance.pk:
            self.fields["documents"].queryset = Document.objects.filter(  # type: ignore[attr-defined]
                tenant_id=self.instance.tenant_id
            ).only("title")
            self.fields["documents"].initial = list(_documents_of(self.instance))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("assistants"):
            cleaned["for_chosen_assistants"] = True
        return cleaned


def _documents_of(collection: Collection) -> QuerySet[CollectedDocument, int]:
    entries = CollectedDocument.objects.filter(tenant_id=collection.tenant_id, collection=collection)
    return entries.values_list("document_id", flat=True)


class CollectionAdmin(TenantScopedAdmin):
    """Collections of a tenant's documents."""

    form = CollectionForm
    list_display = ("name", "tenant", "readers", "count")
    list_filter = (TENANT,)
    search_fields = ("name", "description")
    list_select_related = ("tenant",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        rows: QuerySet[Collection] = super().get_queryset(request)
        return rows.annotate(entry_count=Count("entries", distinct=True)).prefetch_related("assistants")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = ("tenant", "name", "description", "roles", "permission", "for_chosen_assistants", "assistants")
        return own if obj is None else (*own, "documents")

    @admin.display(description=gettext_lazy("who may read it"))
    def readers(self, obj: Any) -> str:
        roles = [str(label) for role, label in Membership.Role.choices if role in obj.roles]
        through = [assistant.name for assistant in obj.assistants.all()]
        if obj.for_chosen_assistants and not through:
            return _("nobody")
        parts = [", ".join(roles), obj.permission, ", ".join(through)]
        return " · ".join(part for part in parts if part) or _("everybody")

    @admin.display(description=gettext_lazy("documents"), ordering="entry_count")
    def count(self, obj: Any) -> int:
        return int(obj.entry_count)

    def reasons_to_keep(self, rows: list[Any]) -> list[Any]:
        kept = [
            row.name for row in rows if CollectedDocument.objects.filter(tenant=row.tenant, collection=row).exists()
        ]
        return [_("%(name)s has documents: everybody could read them.") % {"name": name} for name in kept]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if "documents" not in form.cleaned_data:
            return
        row = form.instance
        before, after = set(_documents_of(row)), {document.pk for document in form.cleaned_data["documents"]}
        for documents, collection in ((after - before, row), (before - after, None)):
            place_documents(tenant=row.tenant, document_ids=documents, collection=collection, actor=request.user)
