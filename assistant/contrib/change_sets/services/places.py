"""Where a change of a set lands: the rows of each tenant, what they say now, and how they are set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.items import LIMIT, PROMPT, SETTING, SWITCH, Item, as_json, column_value
from assistant.models import Assistant, PromptVersion, Tenant, TenantLimits, ToolSetting
from assistant.services.assistants.prompt_values import UnknownVariables, check_variables
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.switch_changes import State, Target, apply_states, set_switches, state_of

Actor = audit_trail.Actor


@dataclass(frozen=True, slots=True)
class Place:
    """One change for one tenant.

    Attributes:
        assistant: whose prompt, setting or switch it is; None for the tenant's.
        now: what is stored, as JSON: of a prompt the primary key of the published version, of a switch its policy,
            reason and end, otherwise the column's value.
        problem: why the change cannot be made here; "" if it can.
    """

    item: Item
    tenant: Tenant
    assistant: Assistant | None
    now: Any
    problem: str = ""

    @property
    def owner(self) -> Assistant:
        """The assistant whose it is. Raises `ValueError` for the tenant's."""
        if self.assistant is None:
            raise ValueError("a tenant's switch or limit is no assistant's")
        return self.assistant


def places_of(item: Item, tenants: Collection[Tenant]) -> list[Place]:
    """Return where a change lands, in the order of the tenants; a few queries, whatever their number."""
    ids = [tenant.pk for tenant in tenants]
    assistants: dict[int, Assistant] = {}
    if item.assistant:
        rows = Assistant.objects.filter(tenant__in=ids, slug=item.assistant).select_related("tenant")
        assistants = {row.tenant_id: row for row in rows}
    now = _READ[item.kind](item, ids, assistants)
    found = []
    for tenant in tenants:
        assistant = assistants.get(tenant.pk)
        problem = ""
        if item.assistant and assistant is None:
            problem = _("has no assistant “%(slug)s”") % {"slug": item.assistant}
        elif tenant.pk not in now:
            problem = _("does not have this tool")
        elif item.kind == PROMPT:
            problem = _variables_problem(item, tenant)
        found.append(Place(item, tenant, assistant, now.get(tenant.pk), problem))
    return found


def _variables_problem(item: Item, tenant: Tenant) -> str:
    try:
        check_variables(item.value, tenant_id=tenant.pk)
    except UnknownVariables as exc:
        return _("lacks variables of the prompt: %(names)s") % {"names": ", ".join(exc.names)}
    return ""


def _prompts(item: Item, ids: Sequence[int], assistants: Mapping[int, Assistant]) -> dict[int, Any]:
    rows = PromptVersion.objects.filter(
        assistant__in=[one.pk for one in assistants.values()],
        assistant__tenant__in=ids,
        status=PromptVersion.Status.PUBLISHED,
    )
    published = dict(rows.values_list("assistant__tenant_id", "pk"))
    return {tenant_id: published.get(tenant_id) for tenant_id in assistants}


def _switches(item: Item, ids: Sequence[int], assistants: Mapping[int, Assistant]) -> dict[int, Any]:
    owners: Sequence[Assistant] = list(assistants.values())
    rows = ToolSetting.objects.filter(tenant__in=ids, tool=item.name)
    rows = rows.filter(assistant__in=[one.pk for one in owners]) if item.assistant else rows.filter(assistant=None)
    stored = {row.tenant_id: row for row in rows}
    having = set(ids)
    if item.name not in catalogue.registry():
        outside = outside_tools.named(tenants=set(ids), names={item.name}).by_tenant
        having = {pk for pk in ids if item.name in outside.get(pk, {})}
    return {pk: state_json(state_of(stored.get(pk))) for pk in ids if pk in having}


def _settings(item: Item, ids: Sequence[int], assistants: Mapping[int, Assistant]) -> dict[int, Any]:
    return {tenant_id: as_json(getattr(row, item.name)) for tenant_id, row in assistants.items()}


def _limits(item: Item, ids: Sequence[int], assistants: Mapping[int, Assistant]) -> dict[int, Any]:
    stored = dict(TenantLimits.objects.filter(tenant__in=ids).values_list("tenant_id", item.name))
    return {tenant_id: as_json(stored.get(tenant_id)) for tenant_id in ids}


_READ = {PROMPT: _prompts, SWITCH: _switches, SETTING: _settings, LIMIT: _limits}


def state_json(state: State) -> dict[str, str | None]:
    """Return the state of a switch as JSON."""
    until = None if state.until is None else state.until.astimezone(UTC).isoformat()
    return {"policy": state.policy, "reason": state.reason, "until": until}


def state_from(value: Mapping[str, Any]) -> State:
    """Return the state of a switch that JSON holds."""
    until = value["until"]
    return State(value["policy"], value["reason"], None if until is None else datetime.fromisoformat(until))


def make_changes(change_set: ChangeSet, item: Item, places: Sequence[Place], *, actor: Actor) -> list[Any]:
    """Make a change at places without a problem, and return what each of them says now.

    Raises:
        ValueError: the tool is gone, or the end of its switch is not valid.
    """
    if item.kind == SWITCH:
        return _switch(change_set, item, places, actor)
    if item.kind == PROMPT:
        versions = draft_versions(change_set, item, places, actor=actor)
        return publish_versions([version.pk for version in versions], places, actor=actor)
    value = column_value(item)
    return [_set_column(place, value, actor) for place in places]


def _switch(change_set: ChangeSet, item: Item, places: Sequence[Place], actor: Actor) -> list[Any]:
    is_off = item.value == "off"
    targets = {place.tenant.pk: _target(place) for place in places}
    set_switches(
        actor=actor,
        targets=targets.values(),
        policy=item.value,
        reason=change_set.reason if is_off else "",
        until=change_set.ends_at if is_off else None,
    )
    after = places_of(item, [place.tenant for place in places])
    return [place.now for place in after]


def _target(place: Place) -> Target:
    return Target(place.tenant.pk, None if place.assistant is None else place.assistant.pk, place.item.name)


def draft_versions(change_set: ChangeSet, item: Item, places: Sequence[Place], *, actor: Actor) -> list[PromptVersion]:
    """Write the prompt of a change as a new version of each assistant; nobody edits it any more."""
    found = []
    for place in places:
        version = draft_prompt(
            assistant=place.owner,
            text=item.value,
            note=change_set.reason,
            label=change_set.name[:60],
            actor=actor,
        )
        rows = PromptVersion.objects.filter(pk=version.pk, assistant__tenant_id=place.tenant.pk)
        rows.update(status=PromptVersion.Status.ARCHIVED)
        version.status = PromptVersion.Status.ARCHIVED
        found.append(version)
    return found


def publish_versions(versions: Sequence[Any], places: Sequence[Place], *, actor: Actor) -> list[Any]:
    """Publish the version of each place by its primary key, and return those."""
    for pk, place in zip(versions, places, strict=True):
        rows = PromptVersion.objects.filter(assistant=place.owner, assistant__tenant_id=place.tenant.pk)
        publish_prompt(version=rows.select_related("assistant__tenant").get(pk=pk), actor=actor)
    return list(versions)


def _set_column(place: Place, value: Any, actor: Actor) -> Any:
    """Set a column of an assistant or of a tenant's limits, with an entry of the audit; return what it says then."""
    name = place.item.name
    row: Any = place.assistant
    if row is None:
        row, _is_new = TenantLimits.objects.get_or_create(tenant=place.tenant)
    setattr(row, name, value)
    row.save(update_fields=[name, "updated_at"] if place.assistant is not None else [name])
    if place.assistant is None:
        reset_use(tenant_id=place.tenant.pk)
    after = as_json(value)
    audit_trail.record(
        actor=actor,
        action="limits.set" if place.assistant is None else "assistant.change",
        target=place.tenant.slug if place.assistant is None else str(place.assistant),
        tenant=place.tenant,
        details={"values": {name: [_shown(place.now), _shown(after)]}},
    )
    return after


def _shown(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def put_back(place: Place, before: Any, *, actor: Actor) -> bool:
    """Set a place to what it said before; return False if that cannot be done, since what it said then is gone."""
    if place.item.kind == SWITCH:
        return not apply_states(actor, {_target(place): state_from(before)}, ()).left
    if place.item.kind == PROMPT:
        return _publish_again(place, before, actor)
    field = (TenantLimits if place.assistant is None else Assistant)._meta.get_field(place.item.name)
    _set_column(place, field.to_python(before), actor)  # type: ignore[union-attr]
    return True


def _publish_again(place: Place, before: int | None, actor: Actor) -> bool:
    versions = PromptVersion.objects.filter(assistant=place.owner, assistant__tenant_id=place.tenant.pk)
    if before is None:
        # There was none: the default prompt holds again.
        versions.filter(pk=place.now).update(status=PromptVersion.Status.ARCHIVED)
        return True
    version = versions.filter(pk=before).select_related("assistant__tenant").first()
    if version is None:
        return False
    try:
        publish_prompt(version=version, actor=actor)
    except UnknownVariables:
        return False
    return True
