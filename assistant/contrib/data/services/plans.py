"""What is offered of each exposed model, and what is not and why."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db import DEFAULT_DB_ALIAS, models, router
from django.utils.module_loading import import_string
from django.utils.text import slugify
from django.utils.translation import override

from assistant.contrib.data.exposing import Exposure
from assistant.contrib.data.services.columns import Column, column_of, looks_secret
from assistant.contrib.data.services.exposures import exposures
from assistant.contrib.data.services.tenant_conditions import is_tenantless, problem_of_path, shown_path
from assistant.toolkit import InvalidTool
from assistant.toolkit.guards.tenant_paths import concrete


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that was asked for and is not offered, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is offered of a model.

    Attributes:
        one, many: the names of one row and of several, as they are in names of tools.
        columns: what rows show.
        filters: what rows can be found by.
        search: the columns that a search looks into.
        left_out: what `expose` names and is not offered.
        unnamed: columns of the model that `expose` does not name.
        problem: why nothing is offered; "" if tools are made.
    """

    exposure: Exposure
    one: str
    many: str
    columns: tuple[Column, ...]
    filters: tuple[Column, ...]
    search: tuple[Column, ...]
    left_out: tuple[LeftOut, ...]
    unnamed: tuple[str, ...]
    uses_object_permissions: bool
    problem: str = ""

    @property
    def model(self) -> Any:
        return self.exposure.model

    @property
    def label(self) -> str:
        return str(self.model._meta.label)

    @property
    def is_tenantless(self) -> bool:
        return is_tenantless(self.model, tenantless=self.exposure.tenantless)

    @property
    def path(self) -> str:
        """The way from its rows to their tenants; "" if they have none."""
        return shown_path(self.model, tenantless=self.exposure.tenantless)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of its tools. Sums cannot be made of rows that are asked for one by one."""
        names = (f"find_{self.many}", f"get_{self.one}")
        return names if self.uses_object_permissions else (*names, f"summarise_{self.many}")

    @property
    def personal(self) -> tuple[Column, ...]:
        """The columns with personal data."""
        return tuple(column for column in self.columns if column.is_personal)


@cache
def plans() -> tuple[Plan, ...]:
    """Return what is offered of all exposed models, those of which nothing is too.

    Raises:
        InvalidTool: `expose` names a column, a manager or an order that does not exist.
    """
    return tuple(plan_of(exposure) for exposure in exposures())


def plan_for(model: Any) -> Plan | None:
    """Return what is offered of a model; None if it is not exposed."""
    return next((plan for plan in plans() if plan.model is model), None)


def plans_over(model: Any) -> tuple[Plan, ...]:
    """Return the plans whose rules hold for rows that a relation leads to: of the model, and of those that it extends.

    A proxy has the rules of its model where it is not exposed itself.
    """
    own = plan_for(model) or plan_for(concrete(model))
    parents = (plan_for(parent) for parent in model._meta.all_parents)
    return tuple(dict.fromkeys(plan for plan in (own, *parents) if plan is not None))


def plan_of(exposure: Exposure) -> Plan:
    """Return what is offered of one model. Raises as `plans` does."""
    left_out: dict[str, str] = {}
    columns = _offered(exposure, exposure.fields, left_out, may_be_many=False)
    filters = columns
    if exposure.filters is not None:
        filters = _offered(exposure, exposure.filters, left_out, may_be_many=True)
    filters = tuple(column for column in filters if column.kind != "value")
    if exposure.search is None:
        search = tuple(column for column in columns if column.kind == "text")
    else:
        search = _offered(exposure, exposure.search, left_out, may_be_many=False)
        if wrong := [column.name for column in search if column.kind != "text"]:
            raise InvalidTool(f"expose({exposure.model._meta.label}): search names {wrong[0]!r}, which is no text.")
    _check_names(exposure, columns)
    named = {column.name for column in (*columns, *filters)} | left_out.keys()
    unnamed = tuple(field.name for field in exposure.model._meta.concrete_fields if field.name not in named)
    one, many = _names(exposure)
    return Plan(
        exposure=exposure,
        one=one,
        many=many,
        columns=columns,
        filters=filters,
        search=search,
        left_out=tuple(LeftOut(name, reason) for name, reason in left_out.items()),
        unnamed=unnamed,
        uses_object_permissions=_uses_object_permissions(exposure),
        problem=_problem(exposure, columns),
    )


def _problem(exposure: Exposure, columns: tuple[Column, ...]) -> str:
    model = exposure.model
    if exposure.is_withdrawn:
        return "an operator has switched it off"
    if problem := problem_of_path(model, tenantless=exposure.tenantless):
        return problem
    if exposure.tenantless and shown_path(model, tenantless=True):
        return "it was declared tenantless, but its rows lead to a tenant"
    if router.db_for_read(model) != DEFAULT_DB_ALIAS:
        return "it is in another database than the assistant"
    if exposure.admin_queryset and model not in admin.site._registry:
        return "admin_queryset was asked for, but the model has no page in the admin"
    # The key of a model that extends another one is a relation to it.
    if looks_secret(column_of(model, "pk", depth=1)):
        return "its primary key looks secret"
    return "" if columns else "none of its columns can be shown"


def _offered(
    exposure: Exposure, names: tuple[str, ...], left_out: dict[str, str], *, may_be_many: bool
) -> tuple[Column, ...]:
    found: dict[str, Column] = {}
    for name in names:
        column = column_of(exposure.model, name, depth=exposure.depth)
        is_personal = column.is_personal if exposure.personal is None else name in exposure.personal
        column = replace(column, is_personal=is_personal, wording=exposure.worded(name))
        reason = _reason_against(column)
        if reason:
            left_out[name] = reason
        elif column.is_many and not may_be_many:
            raise InvalidTool(
                f"expose({exposure.model._meta.label}): {name!r} leads over rows that a row has many of, "
                "which only filters may."
            )
        else:
            found[name] = column
    return tuple(found.values())


def _reason_against(column: Column) -> str:
    if looks_secret(column):
        return "it looks secret"
    for relation in column.relations:
        if problem := problem_of_path(relation.model):
            return f"it leads to {relation.model._meta.label}, and {problem}"
        models = (relation.model, concrete(relation.model), *relation.model._meta.all_parents)
        own = [exposure for exposure in exposures() if exposure.model in models]
        if any(_uses_object_permissions(exposure) for exposure in own):
            return f"it leads to {relation.model._meta.label}, whose rows are asked for one by one"
    return ""


def _check_names(exposure: Exposure, columns: tuple[Column, ...]) -> None:
    label = exposure.model._meta.label
    known = {column.name for column in columns}
    for name in exposure.personal or ():
        column_of(exposure.model, name, depth=exposure.depth)
    for name in exposure.order:
        if name.removeprefix("-") not in known:
            raise InvalidTool(f"expose({label}): order names {name!r}, which is not among its fields.")
    if exposure.manager and not isinstance(getattr(exposure.model, exposure.manager, None), models.Manager):
        raise InvalidTool(f"expose({label}): there is no manager {exposure.manager!r}.")


def _names(exposure: Exposure) -> tuple[str, str]:
    meta = exposure.model._meta
    with override(None):
        one = exposure.name or _as_name(meta.verbose_name) or meta.model_name
        many = exposure.plural or (f"{exposure.name}s" if exposure.name else _as_name(meta.verbose_name_plural))
    return one, many or f"{meta.model_name}s"


def _as_name(words: Any) -> str:
    return slugify(str(words)).replace("-", "_")[:50]


def _uses_object_permissions(exposure: Exposure) -> bool:
    if exposure.object_permissions is not None:
        return exposure.object_permissions
    return bool(object_backends()) and not is_tenantless(exposure.model, tenantless=exposure.tenantless)


def object_backends() -> tuple[str, ...]:
    """Return the project's backends of object permissions: those of guardian and rules."""
    return tuple(
        name
        for name in settings.AUTHENTICATION_BACKENDS
        if inspect.isclass(backend := import_string(name))
        and any(base.__module__.split(".")[0] in ("guardian", "rules") for base in backend.__mro__)
    )
