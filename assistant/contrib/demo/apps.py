"""The Django app of the demo."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp, installed


class DemoConfig(OptionalApp):
    name = "assistant.contrib.demo"
    label = "assistant_demo"
    verbose_name = "Assistant: demo"

    def register(self) -> None:
        from assistant.contrib.demo.seeds import added
        from assistant.pages.added_parts import add_part

        add_part("welcome", "assistant/demo/small_model.html", context=lambda request: {})
        for app in installed():
            if app.has("seed"):
                added.seed_from(f"{app.name}.seed")
