"""The Django app of dictation."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DictationConfig(OptionalApp):
    name = "assistant.contrib.dictation"
    label = "assistant_dictation"
    verbose_name = "Assistant: dictation"

    def register(self) -> None:
        from assistant.services import composer_parts

        # The page's own box; the widget stands in pages of others, whose microphones are theirs to ask for.
        composer_parts.add_to_composer(script="assistant/dictation/dictation.js", mark="#chat #message")
