"""What a person chooses about e-mails on the page of their own settings."""

from __future__ import annotations

from typing import Any

from django import forms

from assistant.contrib.inbox.models import PersonInbox
from assistant.contrib.inbox.services.mails import mails_are_on


class PersonInboxForm(forms.ModelForm[PersonInbox]):
    """How often a person gets e-mails about what waits for them."""

    class Meta:
        model = PersonInbox
        fields = ("mails",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A form that was loaded before e-mails were on has no such field, and changes nothing of it.
        self.fields["mails"].required = False


def form_of(user: Any, data: Any) -> PersonInboxForm | None:
    """Return the form of a person; None if no e-mails are sent about what waits here.

    Args:
        data: the fields of a posted form; None to show what is stored.
    """
    if not mails_are_on():
        return None
    stored = PersonInbox.objects.filter(user_id=user.pk).first() or PersonInbox(user_id=user.pk)
    return PersonInboxForm(data, instance=stored, prefix="inbox")
