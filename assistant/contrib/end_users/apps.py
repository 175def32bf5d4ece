"""The Django app of end users and the widget."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class EndUsersConfig(OptionalApp):
    name = "assistant.contrib.end_users"
    label = "assistant_end_users"
    verbose_name = "Assistant: end users and the widget"

    def register(self) -> None:
        from assistant.contrib.end_users.scopes import MINT_SCOPE, REST
        from assistant.contrib.end_users.services import member_tokens, tokens
        from assistant.contrib.end_users.services.directory import StoredEndUsers
        from assistant.services.tenancy import authentication, end_users, scopes
        from assistant.websocket import added_frames

        end_users.identify_with(StoredEndUsers())
        scopes.add_scope(
            MINT_SCOPE,
            _("end_users: mint tokens with which the tenant's own end users talk to an assistant in its pages."),
        )
        scopes.add_rules(rest=REST, frames={"conversations": scopes.Rule((scopes.READ,))})
        added_frames.handle_frames(
            {
                "conversations": added_frames.AddedFrame(
                    "Ask for the member's newest conversations: a CUSTOM event named conversations lists them."
                )
            },
            handler="assistant.contrib.end_users.frames.ConversationFrames",
        )
        kinds = authentication.CredentialKind
        authentication.accept_tokens(kinds.END_USER_TOKEN, prefix=tokens.TOKEN_PREFIX, caller_of=tokens.caller_of_token)
        authentication.accept_tokens(
            kinds.MEMBER_TOKEN, prefix=member_tokens.TOKEN_PREFIX, caller_of=member_tokens.caller_of_token
        )
