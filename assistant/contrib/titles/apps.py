"""The Django app of titles and follow-up questions."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from assistant.contrib.titles import FOLLOW_UPS, TITLES
from assistant.optional_apps import OptionalApp


class TitlesConfig(OptionalApp):
    name = "assistant.contrib.titles"
    label = "assistant_titles"
    verbose_name = "Assistant: titles"

    def register(self) -> None:
        from assistant.services.conversations.added_notices import add_notice
        from assistant.services.runs.extensions.added import add_run_extension

        make = "assistant.contrib.titles.extension.follow_ups"
        add_run_extension(
            TITLES,
            title=_("Titles: after the first answer the model is asked for a short title of the conversation"),
            make=make,
            only_of_members=True,
            is_default=settings.ASSISTANT_GENERATED_TITLES,
        )
        add_run_extension(
            FOLLOW_UPS,
            title=_("Follow-up questions: after each answer the model is asked for up to three that could come next"),
            make=make,
            only_of_members=True,
        )
        add_notice("title", read="assistant.contrib.titles.storing.title_of", after_snapshot=False)
        add_notice("follow-ups", read="assistant.contrib.titles.storing.follow_ups_of", after_snapshot=True)
