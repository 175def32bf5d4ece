"""What projects say of their models, in the module `assistant` of an app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.toolkit import InvalidTool
from assistant.toolkit.calls.gate import positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.unknown_options import lists_options

# A function of the member's queryset and the tool's context, which returns a narrower queryset.
VisibleTo = Callable[[Any, Any], Any]
MAX_DEPTH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What is said about one model: the arguments of `expose`, and what operators add in the room *Data*.

    Attributes:
        wording: what columns are, by their names, and what tools do, by `tools.find`, `tools.get`, `tools.summarise`.
        is_withdrawn: whether an operator has switched the model off.
    """

    model: Any
    fields: tuple[str, ...]
    filters: tuple[str, ...] | None = None
    personal: tuple[str, ...] | None = None
    visible_to: VisibleTo | None = None
    search: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()
    manager: str = ""
    permission: bool | None = None
    object_permissions: bool | None = None
    admin_queryset: bool = False
    tenantless: bool = False
    depth: int = 2
    name: str = ""
    plural: str = ""
    description: str = ""
    end_users: bool = False
    untrusted: bool = False
    wording: tuple[tuple[str, str], ...] = ()
    is_withdrawn: bool = False

    def worded(self, name: str) -> str:
        """Return an operator's words for a column or tool; "" if there are none."""
        return dict(self.wording).get(name, "")


_declared: list[Exposure] = []


def declared() -> list[Exposure]:
    """Return what the project has exposed so far, in that order."""
    return list(_declared)


@lists_options
def expose(
    model: Any,
    *,
    fields: Sequence[str],
    filters: Sequence[str] | None = None,
    personal: Sequence[str] | None = None,
    visible_to: VisibleTo | None = None,
    search: Sequence[str] | None = None,
    order: Sequence[str] = (),
    manager: str = "",
    permission: bool | None = None,
    object_permissions: bool | None = None,
    admin_queryset: bool = False,
    tenantless: bool = False,
    depth: int = 2,
    name: str = "",
    plural: str = "",
    description: str = "",
    end_users: bool = False,
    untrusted: bool = False,
) -> None:
    """Make the tools `find_<plural>`, `get_<name>` and `summarise_<plural>` of a model. They are off until switched on.

    Rows are those of the chat's tenant, narrowed by all that is said here.

    Args:
        fields: what rows show: columns, and columns of rows that they refer to, such as `customer__name`.
        filters: what rows can be found by; it may lead over rows that a row has many of. Default: `fields`.
        personal: the columns with personal data. Default: those that look so by name and type.
        visible_to: a function of a queryset and the tool's context that returns the rows that the member may see.
        search: the text columns that `search` looks into. Default: those of `fields`.
        order: the order where the model names none, as in `Meta.ordering`; of columns in `fields`.
        manager: the name of the manager to use, instead of the default one.
        permission: whether a member needs the permission to view the model. None: where somebody has been given it.
        object_permissions: whether a member needs that permission for each row. None: where the project has a backend
            of object permissions.
        admin_queryset: whether the rows are those that the model's page in the admin shows the member.
        tenantless: whether all tenants read the same rows.
        depth: over how many relations `fields` and `filters` may lead, at most 3.
        name, plural: the names of one and of several rows in the tools' names. Default: the model's verbose names.
        description: what the rows are, for the language model. Default: the model's docstring.
        end_users: whether end users of the widget may use the tools too.
        untrusted: whether the rows have text that outsiders wrote.

    Raises:
        InvalidTool: a value is not of its type. Names of columns are checked when the tools are made.
    """
    if not (isinstance(model, type) and hasattr(model, "_meta")) or model._meta.abstract:
        raise InvalidTool(f"expose() takes a model, not {model!r}.")
    label = model._meta.label
    for option, names in {"fields": fields, "filters": filters, "personal": personal, "search": search}.items():
        if names is not None and (isinstance(names, str) or not all(isinstance(one, str) for one in names)):
            raise InvalidTool(f"expose({label}): {option} must be a list of names.")
    if not fields:
        raise InvalidTool(f"expose({label}): fields must name at least one column.")
    if not 0 <= depth <= MAX_DEPTH:
        raise InvalidTool(f"expose({label}): depth must be between 0 and {MAX_DEPTH}.")
    if visible_to is not None:
        mistake = "is async, and queries the database" if is_async(visible_to) else positional_mistake(visible_to, 2)
        if mistake:
            raise InvalidTool(f"expose({label}): visible_to {mistake}.")
    if any(one.model is model for one in _declared):
        raise InvalidTool(f"expose({label}) was called twice.")
    _declared.append(
        Exposure(
            model=model,
            fields=tuple(fields),
            filters=None if filters is None else tuple(filters),
            personal=None if personal is None else tuple(personal),
            visible_to=visible_to,
            search=None if search is None else tuple(search),
            order=(order,) if isinstance(order, str) else tuple(order),
            manager=manager,
            permission=permission,
            object_permissions=object_permissions,
            admin_queryset=admin_queryset,
            tenantless=tenantless,
            depth=depth,
            name=name,
            plural=plural,
            description=description,
            end_users=end_users,
            untrusted=untrusted,
        )
    )
