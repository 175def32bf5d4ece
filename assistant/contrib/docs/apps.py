"""The Django app of the documentation."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp
from assistant.toolkit.lazy_module import is_there


class DocsConfig(OptionalApp):
    name = "assistant.contrib.docs"
    label = "assistant_docs"
    verbose_name = "Assistant: documentation"


def describes_rest() -> bool:
    """Return whether there is a description of the REST API, which the packages of the extra `api-docs` make."""
    return is_there("drf_spectacular")
