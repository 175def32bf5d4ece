"""A member's page of saved prompts: their own, and the tenant's, which its admins change here too."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from assistant.contrib.saved_prompts.models import SavedPrompt
from assistant.contrib.saved_prompts.services.managing import (
    PromptRefused,
    change_prompt,
    delete_prompt,
    make_prompt,
    may_change,
    prompts_of,
)
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell
from assistant.services.tenancy.members import Member
from assistant.services.text import INTEGERS


class PromptForm(forms.ModelForm[SavedPrompt]):
    """A saved prompt, and for admins of the tenant whether it is for everybody."""

    is_shared = forms.BooleanField(label=gettext_lazy("For everybody in the tenant"), required=False)

    class Meta:
        model = SavedPrompt
        fields = ("name", "description", "text")
        widgets = {"text": forms.Textarea(attrs={"rows": 5, "dir": "auto"})}

    def __init__(self, *args: Any, member: Member, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk or not member.is_admin:
            # What is one's own stays so: others' bookmarks of a name would lead elsewhere.
            del self.fields["is_shared"]


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def prompts(page: MemberRequest) -> HttpResponse:
    """List the saved prompts that a member can use, and save a new one by POST."""
    _refuse_visitors(page.member)
    form = PromptForm(page.request.POST if page.request.method == "POST" else None, member=page.member)
    if form.is_bound and form.is_valid() and _is_saved(page, form):
        return redirect("assistant:prompts", tenant=page.member.tenant.slug)
    rows = list(prompts_of(page.member))
    groups = [(_("Your own"), [row for row in rows if row.user_id is not None])]
    groups.append((_("For everybody in the tenant"), [row for row in rows if row.user_id is None]))
    return render_in_shell(
        page, "assistant/saved_prompts/prompts.html", {"form": form, "groups": groups, "is_empty": not rows}
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def prompt(page: MemberRequest, saved_prompt: int) -> HttpResponse:
    """Show the form of a saved prompt that the member may change, and store or delete it by POST."""
    row = prompts_of(page.member).filter(pk=saved_prompt).first() if saved_prompt in INTEGERS else None
    if row is None or not may_change(page.member, row):
        raise Http404
    posted = page.request.POST if page.request.method == "POST" else None
    if posted is not None and posted.get("do") == "delete":
        delete_prompt(member=page.member, prompt=row)
        messages.success(page.request, _("“%(name)s” is deleted.") % {"name": row.name})
        return redirect("assistant:prompts", tenant=page.member.tenant.slug)
    form = PromptForm(posted, instance=row, member=page.member)
    if form.is_bound and form.is_valid() and _is_saved(page, form):
        return redirect("assistant:prompts", tenant=page.member.tenant.slug)
    return render_in_shell(page, "assistant/saved_prompts/prompt.html", {"form": form, "prompt": row})


def _refuse_visitors(member: Member) -> None:
    if member.is_end_user:
        raise Http404


def _is_saved(page: MemberRequest, form: PromptForm) -> bool:
    values = dict(form.cleaned_data)
    is_shared = values.pop("is_shared", False)
    try:
        if form.instance.pk:
            change_prompt(member=page.member, prompt=form.instance, values=values)
        else:
            make_prompt(member=page.member, values=values, is_shared=is_shared)
    except PromptRefused as exc:
        form.add_error(None, str(exc))
        return False
    messages.success(page.request, _("“%(name)s” is saved.") % {"name": values["name"]})
    return True
