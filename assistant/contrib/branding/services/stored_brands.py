"""Reads the brands of tenants: a `BrandSource`."""

from __future__ import annotations

import re
import uuid
from dataclasses import asdict

from django.http import HttpRequest
from django.urls import reverse

from assistant.contrib.branding.models import Brand, BrandImage
from assistant.contrib.branding.services.accent import shades
from assistant.models import Tenant
from assistant.services.tenancy.brands import NO_BRAND, BrandValues
from assistant.services.tenancy.row_scope import all_tenants

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,63}")
_TENANTS_PAGE = re.compile(rf"/t/({_SLUG.pattern})(?:/|\Z)")


def brand_of(tenant_id: int) -> BrandValues:
    """Return the brand of a tenant whose member or end user asks; `NO_BRAND` without one."""
    return _values(Brand.objects.filter(tenant_id=tenant_id).select_related("tenant").first())


@all_tenants()
def brand_of_sign_in(request: HttpRequest) -> BrandValues:
    """Return the brand for the sign-in page: of the tenant that the address names, or whose page led here.

    A tenant that does not exist, is inactive or has not opted in is answered by the same query as without a brand.
    """
    found = _TENANTS_PAGE.match(request.GET.get("next", ""))
    slug = request.GET.get("tenant") or (found.group(1) if found else "")
    if not _SLUG.fullmatch(slug):
        return NO_BRAND
    rows = Brand.objects.filter(tenant__slug=slug, tenant__is_active=True, is_on_sign_in=True)
    return _values(rows.select_related("tenant").first())


def _values(row: Brand | None) -> BrandValues:
    if row is None:
        return NO_BRAND
    accent = row.accent.removeprefix("#").lower()
    themes = dict(zip(("light", "dark"), map(asdict, shades(accent)), strict=True)) if accent else {}
    return BrandValues(
        name=row.name,
        accent=accent,
        greeting=row.greeting,
        ai_notice=row.ai_notice,
        ai_notice_place=row.ai_notice_place,
        logo=_path(row.tenant, row.logo_id),
        favicon=_path(row.tenant, row.favicon_id),
        shows_model=row.shows_model,
        colours=themes,
    )


def _path(tenant: Tenant, image: uuid.UUID | None) -> str:
    return reverse("assistant:brand-image", args=[tenant.slug, image]) if image else ""


@all_tenants()
def find_image(*, tenant_slug: str, image: uuid.UUID) -> BrandImage | None:
    """Return an image of an active tenant. Everybody may see it who knows its address, which cannot be guessed."""
    return BrandImage.objects.filter(pk=image, tenant__slug=tenant_slug, tenant__is_active=True).first()
