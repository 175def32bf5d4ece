"""What this app adds to bundles: a tenant's brand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import StringConstraints

from assistant.contrib.branding.models import Brand
from assistant.contrib.bundles.services.format import Part, with_columns
from assistant.contrib.bundles.services.tenant_row import tenant_row


class DeclaredBrandPart(Part):
    """The texts, the colour and the switches of a tenant's brand; its images are left out."""

    accent: Annotated[str, StringConstraints(pattern=r"^(#[0-9a-fA-F]{6})?$")]


if TYPE_CHECKING:
    BrandPart = DeclaredBrandPart
else:
    BrandPart = with_columns(
        DeclaredBrandPart,
        Brand,
        ("name", "greeting", "ai_notice", "ai_notice_place", "is_on_sign_in", "shows_model"),
    )


PARTS = (tenant_row("brand", model=Brand, entry=BrandPart, title=_("brand")),)
