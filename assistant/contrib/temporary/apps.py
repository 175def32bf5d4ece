"""The Django app of temporary conversations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp

NAME = "temporary"


class TemporaryConfig(OptionalApp):
    name = "assistant.contrib.temporary"
    label = "assistant_temporary"
    verbose_name = "Assistant: temporary conversations"

    def register(self) -> None:
        from assistant.services import composer_parts
        from assistant.services.jobs.jobs import handled_in
        from assistant.services.runs.extensions.added import add_run_extension
        from assistant.services.runs.input.added_options import add_option

        add_run_extension(
            NAME,
            title=_("Temporary conversations: members may have some that are kept in no list, and deleted soon"),
            make="assistant.contrib.temporary.marking.no_extensions",
        )
        add_option(
            NAME,
            parse="assistant.contrib.temporary.marking.parse",
            make="assistant.contrib.temporary.marking.mark",
        )
        composer_parts.add_to_composer(
            script="assistant/temporary/temporary.js",
            url_name="conversations",
            has_assistant=False,
            mark="#chat[data-new][data-extensions~=temporary] #message",
        )
        handled_in("assistant.contrib.temporary.deleting")
