"""What this app adds to bundles: whether a tenant's members get e-mails about alarms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext_lazy as _

from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import Part
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put
from assistant.contrib.timed.models import TenantAlarms
from assistant.models import Assistant, Tenant


class AlarmsPart(Part):
    """What a tenant has set for its members' alarms."""

    are_mailed: bool


def exported_alarms(tenant: Tenant, assistant: Assistant | None) -> Iterable[AlarmsPart]:
    """Return what a tenant has set; of one assistant nothing."""
    rows = TenantAlarms.objects.filter(tenant=tenant) if assistant is None else TenantAlarms.objects.none()
    return [AlarmsPart(are_mailed=row.are_mailed) for row in rows]


def import_alarms(target: Target, parts: Sequence[AlarmsPart], is_whole: bool) -> Iterator[Entry]:
    """Set what the bundle says. One that says nothing changes nothing."""
    for part in parts:
        stored = TenantAlarms.objects.filter(tenant=target.tenant).first()
        row = stored or TenantAlarms(tenant=target.tenant)
        changes = put(row, {"are_mailed": part.are_mailed})
        if changes or stored is None:
            row.save()
        yield Entry("create" if stored is None else kind_of(changes, is_new=False), "alarms", "", changes)


PARTS = (
    AddedPart(
        key="alarms",
        section="alarms",
        title=_("Alarms"),
        model=TenantAlarms,
        entry=AlarmsPart,
        most=1,
        name_of=lambda part: "alarms",
        assistant_of=lambda part: None,
        export=exported_alarms,
        take=import_alarms,
    ),
)
