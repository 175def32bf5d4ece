"""What the widget shows of a tenant's brand."""

from __future__ import annotations

from typing import Any

from assistant.services.tenancy.brands import brand_of


def widget_brand(*, tenant_id: int) -> dict[str, Any]:
    """Return the texts of a brand, the logo's path, and the colours of each theme."""
    brand = brand_of(tenant_id=tenant_id)
    values: dict[str, Any] = {
        "name": brand.name,
        "greeting": brand.greeting,
        "ai_notice": brand.ai_notice,
        "ai_notice_place": brand.ai_notice_place,
        "logo": brand.logo,
    }
    return {**values, "colours": brand.colours} if brand.colours else values
