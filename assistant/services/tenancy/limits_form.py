"""With which form the limits of tenants are set: an optional app may have one with more groups."""

from __future__ import annotations

_form = "assistant.admin.limits.LimitsForm"


def use_form(form: str) -> None:
    """Have limits set with the form of an optional app.

    Args:
        form: the dotted name of a subclass of `LimitsForm`, which is imported with the first page.
    """
    global _form  # noqa: PLW0603 - of the whole process
    _form = form


def form_name() -> str:
    """Return the dotted name of the form."""
    return _form
