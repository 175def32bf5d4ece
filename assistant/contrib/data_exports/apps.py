"""The Django app of exports of tenants and persons."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DataExportsConfig(OptionalApp):
    name = "assistant.contrib.data_exports"
    label = "assistant_data_exports"
    verbose_name = "Assistant: exports of tenants and persons"
