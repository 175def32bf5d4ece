"""Whose rows the code that runs now may see and write: one tenant's, several tenants', all, or nobody's.

Where row-level security is on (`row_level_security`), PostgreSQL holds every statement to it.
Requests and connections begin with nobody's, and enter a tenant once their caller is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NOBODY, EVERYBODY = "", "*"
_tenants: ContextVar[str] = ContextVar("tenants_in_sight", default=NOBODY)


def tenants_in_sight() -> str:
    """The ids, comma separated; `NOBODY` or `EVERYBODY`."""
    return _tenants.get()


def enter(*tenant_ids: int) -> None:
    """From here on, this task or request sees the rows of these tenants alone; of none, if none is given."""
    _tenants.set(_written(tenant_ids))


def enter_all() -> None:
    """From here on, this task or request sees all tenants' rows: for operators, and for the deployment's own work."""
    _tenants.set(EVERYBODY)


@contextmanager
def tenants(*tenant_ids: int) -> Iterator[None]:
    """As `enter`, to the end of the block."""
    with _seeing(_written(tenant_ids)):
        yield


@contextmanager
def all_tenants() -> Iterator[None]:
    """As `enter_all`, to the end of the block, or of the function that it decorates.

    For finding out who is calling, and for the deployment's own work.
    """
    with _seeing(EVERYBODY):
        yield


@contextmanager
def _seeing(wanted: str) -> Iterator[None]:
    token = _tenants.set(wanted)
    try:
        yield
    finally:
        _tenants.reset(token)


def _written(tenant_ids: Iterable[int]) -> str:
    return ",".join(str(int(pk)) for pk in tenant_ids)
