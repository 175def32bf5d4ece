"""Who end users are, for the core."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Model

from assistant.contrib.end_users.models import EndUser, WidgetOrigin
from assistant.services.tenancy.end_users import EndUserInfo
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.context import UserId


def info_of(end_user: EndUser) -> EndUserInfo:
    """Return what a tenant's backend has said of an end user."""
    return EndUserInfo(end_user.external_id, end_user.name, end_user.context)


class StoredEndUsers:
    """The rows of end users and origins."""

    models: tuple[type[Model], ...] = (EndUser,)

    def find(self, *, user_id: UserId) -> EndUserInfo | None:
        row = EndUser.objects.filter(user_id=user_id).first()
        return None if row is None else info_of(row)

    def find_user(self, *, tenant_slug: str, external_id: str) -> Any:
        rows = EndUser.objects.filter(tenant__slug=tenant_slug, external_id=external_id)
        row = rows.select_related("user").first()
        return None if row is None else row.user

    @all_tenants()
    def is_origin_allowed(self, *, tenant_slug: str, origin: str) -> bool:
        return WidgetOrigin.objects.filter(tenant__slug=tenant_slug, tenant__is_active=True, origin=origin).exists()

    def allowed_origins(
        self, *, tenant_ids: Collection[int], assistant_ids: Collection[int]
    ) -> set[tuple[int, int | None, str]]:
        rows = WidgetOrigin.objects.filter(tenant_id__in=tenant_ids, assistant__is_active=True)
        return set(rows.filter(assistant_id__in=assistant_ids).values_list("tenant_id", "assistant_id", "origin"))
