"""The Django app of bundles."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp, installed


class BundlesConfig(OptionalApp):
    name = "assistant.contrib.bundles"
    label = "assistant_bundles"
    verbose_name = "Assistant: bundles"

    def register(self) -> None:
        from assistant.contrib.bundles.services import part_modules

        for app in installed():
            if app.has("bundle_parts"):
                part_modules.add_parts(f"{app.name}.bundle_parts")
