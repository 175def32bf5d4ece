"""Stores the brands of tenants."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from assistant.contrib.branding.models import Brand, BrandImage
from assistant.contrib.branding.services.images import check_image
from assistant.services.tenancy import audit_trail


@transaction.atomic
def save_brand(
    *, brand: Brand, images: Mapping[str, bytes | None], actor: audit_trail.Actor, changed: list[str]
) -> None:
    """Store a brand. `images` has the logo or favicon that is replaced, or None to remove it.

    Raises:
        ImageRefused: an image is not one that a brand may have.
    """
    replaced = []
    for name, data in images.items():
        replaced.append(getattr(brand, f"{name}_id"))
        row = None
        if data is not None:
            row = BrandImage.objects.create(tenant=brand.tenant, media_type=check_image(data), data=data)
        setattr(brand, name, row)
    brand.save()
    BrandImage.objects.filter(tenant=brand.tenant, pk__in=[pk for pk in replaced if pk]).delete()
    audit_trail.record(
        actor=actor,
        action="brand.set",
        target=brand.tenant.slug,
        tenant=brand.tenant,
        details={"changes": [*changed, *images]},
    )
