"""The Django app of the documentation."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DocsConfig(OptionalApp):
    name = "assistant.contrib.docs"
    label = "assistant_docs"
    verbose_name = "Assistant: documentation"
