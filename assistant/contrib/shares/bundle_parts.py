"""What this app adds to bundles: whether a tenant's members may share conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext_lazy as _

from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import Part
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put
from assistant.contrib.shares.models import TenantSharing
from assistant.models import Assistant, Tenant


class SharingPart(Part):
    """Whether a tenant's members may share conversations."""

    is_allowed: bool


def exported_sharing(tenant: Tenant, assistant: Assistant | None) -> Iterable[SharingPart]:
    """Return what a tenant has set; of one assistant nothing."""
    rows = TenantSharing.objects.filter(tenant=tenant) if assistant is None else TenantSharing.objects.none()
    return [SharingPart(is_allowed=row.is_allowed) for row in rows]


def import_sharing(target: Target, parts: Sequence[SharingPart], is_whole: bool) -> Iterator[Entry]:
    """Set what the bundle says. One that says nothing changes nothing."""
    for part in parts:
        stored = TenantSharing.objects.filter(tenant=target.tenant).first()
        row = stored or TenantSharing(tenant=target.tenant)
        changes = put(row, {"is_allowed": part.is_allowed})
        if changes or stored is None:
            row.save()
        yield Entry("create" if stored is None else kind_of(changes, is_new=False), "sharing", "", changes)


PARTS = (
    AddedPart(
        key="sharing",
        section="sharing",
        title=_("sharing of conversations"),
        model=TenantSharing,
        entry=SharingPart,
        most=1,
        name_of=lambda part: "sharing",
        assistant_of=lambda part: None,
        export=exported_sharing,
        take=import_sharing,
    ),
)
