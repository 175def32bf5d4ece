"""Reads the brands of tenants."""

from __future__ import annotations

import re
import uuid
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from assistant.models import Brand, BrandImage, Tenant
from assistant.services.branding.accent import shades
from assistant.services.tenancy.row_scope import all_tenants

IMAGES = ("logo", "favicon")
_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,63}")
_TENANTS_PAGE = re.compile(rf"/t/({_SLUG.pattern})(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class BrandValues:
    """What pages show of a brand; empty where it says nothing.

    Attributes:
        accent: the colour as rrggbb.
        logo: the path of the image, as `favicon` is.
    """

    name: str = ""
    accent: str = ""
    greeting: str = ""
    ai_notice: str = ""
    ai_notice_place: str = Brand.NoticePlace.START.value
    logo: str = ""
    favicon: str = ""
    shows_model: bool = False


NO_BRAND = BrandValues()


def brand_of(*, tenant_id: int) -> BrandValues:
    """Return the brand of a tenant whose member or end user asks; `NO_BRAND` without one, or where brands are off."""
    if not settings.ASSISTANT_TENANT_BRANDS:
        return NO_BRAND
    return _values(Brand.objects.filter(tenant_id=tenant_id).select_related("tenant").first())


@all_tenants()
def brand_of_sign_in(request: HttpRequest) -> BrandValues:
    """Return the brand for the sign-in page: of the tenant that the address names, or whose page led here.

    A tenant that does not exist, is inactive or has not opted in is answered by the same query as without a brand.
    """
    found = _TENANTS_PAGE.match(request.GET.get("next", ""))
    slug = request.GET.get("tenant") or (found.group(1) if found else "")
    if not _SLUG.fullmatch(slug) or not settings.ASSISTANT_TENANT_BRANDS:
        return NO_BRAND
    rows = Brand.objects.filter(tenant__slug=slug, tenant__is_active=True, is_on_sign_in=True)
    return _values(rows.select_related("tenant").first())


def _values(row: Brand | None) -> BrandValues:
    if row is None:
        return NO_BRAND
    return BrandValues(
        name=row.name,
        accent=row.accent.removeprefix("#").lower(),
        greeting=row.greeting,
        ai_notice=row.ai_notice,
        ai_notice_place=row.ai_notice_place,
        logo=_path(row.tenant, row.logo_id),
        favicon=_path(row.tenant, row.favicon_id),
        shows_model=row.shows_model,
    )


def _path(tenant: Tenant, image: uuid.UUID | None) -> str:
    return reverse("assistant:brand-image", args=[tenant.slug, image]) if image else ""


def widget_brand(*, tenant_id: int) -> dict[str, Any]:
    """Return what the widget shows of a brand: its texts, the logo's path, and the colours of each theme."""
    brand = brand_of(tenant_id=tenant_id)
    found: dict[str, Any] = {
        "name": brand.name,
        "greeting": brand.greeting,
        "ai_notice": brand.ai_notice,
        "ai_notice_place": brand.ai_notice_place,
        "logo": brand.logo,
    }
    if brand.accent:
        light, dark = shades(brand.accent)
        found["colours"] = {"light": asdict(light), "dark": asdict(dark)}
    return found


@all_tenants()
def find_image(*, tenant_slug: str, image: uuid.UUID) -> BrandImage | None:
    """Return an image of an active tenant. Everybody may see it who knows its address, which cannot be guessed."""
    if not settings.ASSISTANT_TENANT_BRANDS:
        return None
    return BrandImage.objects.filter(pk=image, tenant__slug=tenant_slug, tenant__is_active=True).first()
