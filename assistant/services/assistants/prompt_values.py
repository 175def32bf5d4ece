"""What the variables of prompts stand for: rows of the tenant and of the user, never the context of tools."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from zoneinfo import ZoneInfo

from django.utils import timezone

from assistant.core.values.prompt_template import BUILT_IN, TENANT_NAME, TODAY, USER_NAME, names_in, resolve
from assistant.models import Membership, PromptVariable, Tenant
from assistant.services.tenancy.end_users import directory
from assistant.services.tenancy.members import person_name
from assistant.toolkit.context import UserId


class UnknownVariables(ValueError):
    """A prompt names variables that its tenant does not have.

    Attributes:
        names: in their order; "" for two braces that begin no variable.
    """

    def __init__(self, names: Collection[str]) -> None:
        named = ", ".join(f"{{{{ {name} }}}}" if name else "two braces without }}" for name in names)
        super().__init__(f"The prompt names variables that do not exist: {named}. Two braces as text are \\{{{{.")
        self.names = tuple(names)


def own_names(*, tenant_id: int) -> list[str]:
    """Return the names of a tenant's own variables, sorted."""
    return list(PromptVariable.objects.filter(tenant_id=tenant_id).order_by("name").values_list("name", flat=True))


def check_variables(text: str, *, tenant_id: int) -> None:
    """Raise `UnknownVariables` unless a prompt names only variables that the tenant has."""
    unknown = [name for name in names_in(text) if name not in BUILT_IN]
    if unknown:
        known = own_names(tenant_id=tenant_id)
        unknown = [name for name in unknown if name not in known]
    if unknown:
        raise UnknownVariables(unknown)


class PromptValues:
    """The values of variables for one user of a tenant, read when a prompt first names them, with one query a kind."""

    def __init__(self, *, tenant: Tenant, user_id: UserId) -> None:
        self._tenant = tenant
        self._user_id = user_id

    def resolve(self, text: str) -> str:
        """Return a prompt with the values of its variables."""
        return resolve(text, self._value_of, users={USER_NAME: lambda: self._user_name})

    def _value_of(self, name: str) -> str:
        if name == TENANT_NAME:
            return " ".join(self._tenant.name.split())
        if name == TODAY:
            return timezone.now().astimezone(ZoneInfo(self._tenant.timezone)).strftime("%Y-%m-%d (%A)")
        return self._own.get(name, "")

    @cached_property
    def _own(self) -> dict[str, str]:
        rows = PromptVariable.objects.filter(tenant_id=self._tenant.pk)
        return dict(rows.values_list("name", "value"))

    @cached_property
    def _user_name(self) -> str:
        """The name that an end user's token gave, else the full name, else the user name."""
        members = Membership.objects.filter(tenant_id=self._tenant.pk, user_id=self._user_id)
        found = members.select_related("user").first()
        if found is None:
            return ""
        if found.role == Membership.Role.END_USER:
            end_user = directory().find(user_id=found.user_id)
            return "" if end_user is None else end_user.name
        return person_name(found.user)
