"""Which tenants' rows the current request or task may read and write.

Where row-level security is on (`contrib/row_level_security/`), PostgreSQL enforces this for every statement. Requests
and connections start with no tenants, and set theirs once the caller is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from assistant.services.db.threads import tenants as _tenants

NO_TENANTS = ""
ALL_TENANTS = "*"

_explanations: list[Callable[[], list[str]]] = []


def explain_hidden_rows_with(explain: Callable[[], list[str]]) -> None:
    """Add what says why the database hides all tenants' rows from the code that asks; empty if it does not."""
    _explanations.append(explain)


def why_rows_are_hidden() -> list[str]:
    """Return sentences for the operator: why the database hides all tenants' rows. Empty if it does not."""
    return [sentence for explain in _explanations for sentence in explain()]


def visible_tenants() -> str:
    """Return the tenants' ids, comma separated, or `NO_TENANTS` or `ALL_TENANTS`."""
    return _tenants.get()


def set_tenants(*tenant_ids: int) -> None:
    """Allow this request or task the rows of only these tenants, until it ends."""
    _tenants.set(_joined(tenant_ids))


def set_all_tenants() -> None:
    """Allow this request or task the rows of all tenants: for operators and the deployment's own work."""
    _tenants.set(ALL_TENANTS)


@contextmanager
def tenant_scope(*tenant_ids: int) -> Iterator[None]:
    """Allow a block the rows of only these tenants."""
    with _scope(_joined(tenant_ids)):
        yield


@contextmanager
def all_tenants() -> Iterator[None]:
    """Allow a block, or a function that this decorates, the rows of all tenants.

    For looking up the caller and for the deployment's own work.
    """
    with _scope(ALL_TENANTS):
        yield


@contextmanager
def _scope(tenants: str) -> Iterator[None]:
    token = _tenants.set(tenants)
    try:
        yield
    finally:
        _tenants.reset(token)


def _joined(tenant_ids: Iterable[int]) -> str:
    return ",".join(str(int(pk)) for pk in tenant_ids)
