"""Whose share of the database threads the current request or task uses, and whose rows it may see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The tenants' ids, comma separated: see `tenancy.row_scope`.
tenants: ContextVar[str] = ContextVar("visible_tenants", default="")
_name: ContextVar[str] = ContextVar("database_share", default="")


def share() -> str:
    """Return the name of the share: that of `in_share`, else the tenants."""
    return _name.get() or tenants.get()


@contextmanager
def in_share(name: str) -> Iterator[None]:
    """Use a share of its own in a block, where the tenant is not known yet."""
    token = _name.set(name)
    try:
        yield
    finally:
        _name.reset(token)
