"""What operators tick in the room *Data*: the project's models, their columns, and how both are worded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.data.exposing import Exposure, declared
from assistant.contrib.data.models import ExposedModel
from assistant.contrib.data.services.columns import Column, column_of, looks_secret
from assistant.contrib.data.services.exposures import Ticked, exposure_of, is_personal, narrowed
from assistant.contrib.data.services.following import refresh, ticked_of
from assistant.contrib.data.services.init.exposures import columns_to_offer, propose
from assistant.contrib.data.services.plans import Plan, plan_of, plans
from assistant.contrib.data.services.tenant_conditions import shown_path
from assistant.hosting import get_host
from assistant.optional_apps import labels
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import InvalidTool
from assistant.toolkit.guards.tenant_paths import tenant_models

MAX_COLUMNS = 80
MAX_DESCRIPTION = 500
MAX_WORDING = 200
TOOLS = ("tools.find", "tools.get", "tools.summarise")


class CannotExpose(ValueError):
    """What was ticked cannot be offered; the message says which column or model, and why."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of the project as the list shows it.

    Attributes:
        is_coded: whether the project's code exposes it.
        plan: what is offered of it; None if it is not exposed.
        reason: why it is not proposed, or cannot be offered; "" for none.
    """

    model: Any
    is_coded: bool
    plan: Plan | None
    is_ticked: bool = False
    reason: str = ""

    @property
    def label(self) -> str:
        return str(self.model._meta.label)

    @property
    def is_offered(self) -> bool:
        return self.plan is not None and not self.plan.problem


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """A column that can be ticked.

    Attributes:
        reason: why it cannot be ticked; "" if it can.
        may_be_shown: whether rows can show it; conditions may lead over rows that a row has many of.
        must_be_personal: whether the code says that it is personal.
    """

    column: Column
    is_shown: bool
    is_filter: bool
    is_personal: bool
    wording: str = ""
    reason: str = ""
    may_be_shown: bool = True
    may_be_filter: bool = True
    must_be_personal: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be ticked of a model, and what is."""

    listed: ListedModel
    path: str
    columns: tuple[ColumnChoice, ...]
    description: str
    wording: Mapping[str, str]
    is_stored: bool


def listed_models() -> list[ListedModel]:
    """Return the project's models: those that are exposed, those that are proposed, and the others with the reason."""
    found = _own_models()
    by_model = {plan.model: plan for plan in plans()}
    coded = {exposure.model for exposure in declared()}
    stored = set(ExposedModel.objects.values_list("row_model", flat=True))
    host = get_host()
    without = {apps.get_model(name) for name in (host.tenant_model, host.membership_model) if name} if host else set()
    proposal = propose(found, known=tenant_models(), without=without)
    reasons = dict(proposal.others)
    proposed = [one.model for one in proposal.exposed]
    order = [*by_model, *proposed, *found]
    return [
        ListedModel(
            model,
            model in coded,
            by_model.get(model),
            model._meta.label in stored,
            reasons.get(model._meta.label, "") if model not in by_model else by_model[model].problem,
        )
        for model in dict.fromkeys(order)
        if model not in without or model in by_model
    ]


def _own_models() -> list[Any]:
    """Return the models of the project and of packages that are not Django's or this one's."""
    ours = labels()
    return [
        model
        for config in apps.get_app_configs()
        if config.label not in ours and not config.name.startswith("django.contrib.")
        for model in config.get_models()
        if not model._meta.proxy and not model._meta.swapped
    ]


def choices_of(label: str) -> Choices:
    """Return what can be ticked of a model.

    Raises:
        CannotExpose: there is no such model among those of the list.
    """
    listed = next((one for one in listed_models() if one.label == label), None)
    if listed is None:
        raise CannotExpose(_("There is no model %(label)s.") % {"label": label})
    row = ExposedModel.objects.filter(row_model=label).first()
    one = None if row is None else ticked_of(row)
    exposure = _coded(listed.model)
    columns = _choices_of_code(exposure, one) if exposure is not None else _choices_of_proposal(listed.model, one)
    return Choices(
        listed=listed,
        path=shown_path(listed.model, tenantless=exposure is not None and exposure.tenantless),
        columns=tuple(columns),
        description="" if one is None else one.description,
        wording={} if one is None else dict(one.wording),
        is_stored=row is not None,
    )


def _coded(model: Any) -> Exposure | None:
    return next((exposure for exposure in declared() if exposure.model is model), None)


def _choices_of_code(exposure: Exposure, one: Ticked | None) -> Iterator[ColumnChoice]:
    filters = exposure.fields if exposure.filters is None else exposure.filters
    for name in dict.fromkeys((*exposure.fields, *filters)):
        column = column_of(exposure.model, name, depth=exposure.depth)
        yield ColumnChoice(
            column,
            is_shown=name in (exposure.fields if one is None else one.fields),
            is_filter=name in (filters if one is None else one.filters),
            is_personal=is_personal(exposure, name, one),
            wording="" if one is None else dict(one.wording).get(name, ""),
            reason="it looks secret" if looks_secret(column) else "",
            may_be_shown=name in exposure.fields,
            may_be_filter=name in filters and column.kind != "value",
            must_be_personal=is_personal(exposure, name),
        )


def _choices_of_proposal(model: Any, one: Ticked | None) -> Iterator[ColumnChoice]:
    for column, reason in columns_to_offer(model, tenant_models()):
        is_proposed = one is None and not reason
        yield ColumnChoice(
            column,
            is_shown=is_proposed or (one is not None and column.name in one.fields),
            is_filter=is_proposed or (one is not None and column.name in one.filters),
            is_personal=column.is_personal if one is None else column.name in one.personal,
            wording="" if one is None else dict(one.wording).get(column.name, ""),
            reason=reason,
        )


def expose_model(
    *,
    actor: audit_trail.Actor,
    label: str,
    is_offered: bool,
    fields: Collection[str],
    filters: Collection[str],
    personal: Collection[str] = (),
    description: str = "",
    wording: Mapping[str, str] | None = None,
) -> ExposedModel:
    """Store what an operator has ticked of a model, for all tenants; this process offers it after the commit.

    Its tools stay off until they are switched on for a tenant. The caller has checked that `actor` is an operator.

    Args:
        label: of the model, as "shop.Order".
        wording: what columns are, by their names, and what tools do, by `TOOLS`.

    Raises:
        CannotExpose: a column looks secret, does not exist or is not among those that the code exposes, the model
            leads to no tenant, a name of its tools is taken, or a text is too long.
    """
    listed = next((one for one in listed_models() if one.label == label), None)
    if listed is None:
        raise CannotExpose(_("There is no model %(label)s.") % {"label": label})
    words = {name: " ".join(text.split()) for name, text in (wording or {}).items() if text.strip()}
    one = Ticked(
        model=listed.model,
        is_offered=is_offered,
        fields=tuple(dict.fromkeys(fields)),
        filters=tuple(dict.fromkeys(filters)),
        personal=tuple(dict.fromkeys(personal)),
        description=" ".join(description.split()),
        wording=tuple(words.items()),
    )
    _check_bounds(one)
    if is_offered:
        _check(one, listed)
    values = {
        "is_offered": one.is_offered,
        "fields": list(one.fields),
        "filters": list(one.filters),
        "personal": list(one.personal),
        "description": one.description,
        "wording": words,
    }
    with transaction.atomic():
        row, _created = ExposedModel.objects.update_or_create(row_model=label, defaults=values)
        audit_trail.record(actor=actor, action="data.expose", target=label, details=values)
        transaction.on_commit(refresh)
    return row


def forget_model(*, actor: audit_trail.Actor, label: str) -> None:
    """Delete what was ticked of a model: what the code says holds again, and a model that it does not name is off.

    The caller has checked that `actor` is an operator.

    Raises:
        CannotExpose: nothing was ticked of it.
    """
    with transaction.atomic():
        deleted, _rows = ExposedModel.objects.filter(row_model=label).delete()
        if not deleted:
            raise CannotExpose(_("Nothing was ticked of %(label)s.") % {"label": label})
        audit_trail.record(actor=actor, action="data.forget", target=label)
        transaction.on_commit(refresh)


def _check_bounds(one: Ticked) -> None:
    names = {*one.fields, *one.filters, *one.personal}
    if len(names) > MAX_COLUMNS:
        raise CannotExpose(_("At most %(number)s columns can be ticked.") % {"number": MAX_COLUMNS})
    if len(one.description) > MAX_DESCRIPTION:
        raise CannotExpose(_("The description has at most %(number)s characters.") % {"number": MAX_DESCRIPTION})
    for name, text in one.wording:
        if name not in names and name not in TOOLS:
            raise CannotExpose(_("%(name)s is worded, and not ticked.") % {"name": name})
        if len(text) > MAX_WORDING:
            values = {"name": name, "number": MAX_WORDING}
            raise CannotExpose(_("The words of %(name)s have at most %(number)s characters.") % values)


def _check(one: Ticked, listed: ListedModel) -> None:
    """Raise `CannotExpose` if something that is ticked would not be offered."""
    exposure = _coded(one.model)
    if exposure is not None:
        limit = {*exposure.fields, *(exposure.filters or ())}
        for name in (*one.fields, *one.filters, *one.personal):
            if name not in limit:
                raise CannotExpose(_("%(name)s is not among the columns that the code exposes.") % {"name": name})
    try:
        # `exposure_of` leaves out what does not exist, for rows that were ticked before a change of the code.
        for name in (*one.fields, *one.filters):
            column_of(one.model, name, depth=(exposure or exposure_of(one)).depth)
        plan = plan_of(exposure_of(one) if exposure is None else narrowed(exposure, one))
    except InvalidTool as exc:
        raise CannotExpose(str(exc)) from exc
    if plan.problem:
        raise CannotExpose(f"{listed.label}: {plan.problem}.")
    if plan.left_out:
        column = plan.left_out[0]
        raise CannotExpose(f"{listed.label}.{column.name}: {column.reason}.")
    own = set(listed.plan.tools) if listed.plan is not None else set()
    taken = {tool.name for tool in catalogue.registry()} - own
    if names := taken.intersection(plan.tools):
        raise CannotExpose(_("There is another tool named %(name)s.") % {"name": min(names)})
