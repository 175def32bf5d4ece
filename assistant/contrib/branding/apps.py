"""The Django app of tenants' brands."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class BrandingConfig(OptionalApp):
    name = "assistant.contrib.branding"
    label = "assistant_branding"
    verbose_name = "Assistant: brands of tenants"

    def register(self) -> None:
        from assistant.services.tenancy.brands import read_brands_with

        read_brands_with("assistant.contrib.branding.services.stored_brands")
