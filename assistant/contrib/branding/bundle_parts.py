"""What this app adds to bundles: a tenant's brand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from pydantic import StringConstraints

from assistant.contrib.branding.models import Brand
from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import Part, with_columns
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.models import Assistant, Tenant


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


def exported_brand(tenant: Tenant, assistant: Assistant | None) -> Iterable[BrandPart]:
    """Return a tenant's brand; of one assistant nothing."""
    rows = Brand.objects.filter(tenant=tenant) if assistant is None else Brand.objects.none()
    return [BrandPart(**{name: getattr(row, name) for name in BrandPart.model_fields}) for row in rows]


def import_brand(target: Target, parts: Sequence[BrandPart], is_whole: bool) -> Iterator[Entry]:
    """Set the texts, the colour and the switches; the images stay. A bundle without a brand changes nothing."""
    for part in parts:
        stored = Brand.objects.select_for_update().filter(tenant=target.tenant).first()
        row = stored or Brand(tenant=target.tenant)
        try:
            changes = put(row, {name: getattr(part, name) for name in part.model_fields_set})
        except ValidationError as exc:
            yield refused("brand", "", exc)
            return
        if changes:
            row.save()
        yield Entry(kind_of(changes, is_new=stored is None), "brand", changes=changes)


PARTS = (
    AddedPart(
        key="brand",
        section="brand",
        title=_("brand"),
        model=Brand,
        entry=BrandPart,
        most=1,
        name_of=lambda part: "brand",
        assistant_of=lambda part: None,
        export=exported_brand,
        take=import_brand,
    ),
)
