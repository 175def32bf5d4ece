"""A person's own page: name, language, appearance, password, and what optional apps add."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language_from_request, gettext, override
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from assistant.models import PersonSettings
from assistant.pages import member_links
from assistant.pages.added_parts import parts_of
from assistant.pages.added_settings import forms_of
from assistant.pages.base_template import render_page
from assistant.pages.members import TENANT_IN_SESSION, MemberRequest, member_at, user_id
from assistant.pages.shell import render_in_shell
from assistant.pages.sign_in import OwnPasswordView
from assistant.pages.signed_in import signed_in
from assistant.services.signin.sign_in_page import is_sign_in_ours
from assistant.services.tenancy.authentication import AccessDenied
from assistant.services.tenancy.members import memberships_of
from assistant.services.tenancy.person_settings import languages, set_theme


class AccountForm(forms.ModelForm[PersonSettings]):
    """A person's settings."""

    language = forms.ChoiceField(label=_("Language"), required=False)

    class Meta:
        model = PersonSettings
        fields = ("name", "language", "theme")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["language"].choices = [("", gettext("As the browser says")), *languages()]  # type: ignore[attr-defined]
        if "assistant.pages.preferences.PersonLanguage" not in settings.MIDDLEWARE:
            # Nothing would read it: the project chooses the language.
            del self.fields["language"]
        if settings.ASSISTANT_BASE_TEMPLATE:
            del self.fields["theme"]


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """Show and store the settings of the signed-in person."""
    user: Any = request.user
    stored = PersonSettings.objects.filter(user_id=user.pk).first() or PersonSettings(user_id=user.pk)
    data = request.POST if request.method == "POST" else None
    own_forms = [AccountForm(data, instance=stored), *forms_of(user, data)]
    if data is not None and not any([form.errors for form in own_forms]):  # noqa: C419 - each shows its errors
        for form in own_forms:
            form.save()
        # The next page is in the language that was chosen, perhaps just now.
        with override(stored.language or get_language_from_request(request)):
            messages.success(request, gettext("Your settings are saved."))
        return redirect("assistant:account")
    context = {
        "forms": own_forms,
        "account_links": member_links.account_links(),
        "is_sign_in_ours": is_sign_in_ours(),
        "has_password": user.has_usable_password(),
        **parts_of("account", request),
        "own_parts": parts_of("own-things", request)["parts"],
    }
    page = _in_a_tenant(request)
    if page is None:
        return render_page(
            request, "assistant/accounts/account.html", {"base": "assistant/accounts/page.html", **context}
        )
    return render_in_shell(
        page, "assistant/accounts/account.html", {"base": "assistant/accounts/in_shell.html", **context}
    )


def _in_a_tenant(request: HttpRequest) -> MemberRequest | None:
    """Return a request of a member: of the tenant whose chat the person had open last, or of their first; else None."""
    slugs = [membership.tenant.slug for membership in memberships_of(user_id=user_id(request))]
    last = request.session.get(TENANT_IN_SESSION)
    if not slugs:
        return None
    try:
        member = member_at(request, last if last in slugs else slugs[0])
    except AccessDenied:
        return None
    return MemberRequest(member, request)


@require_POST
@never_cache
@signed_in
def theme(request: HttpRequest) -> HttpResponse:
    """Store the appearance that the page's menu has set."""
    try:
        set_theme(user=request.user, theme=request.POST.get("theme", ""))
    except ValueError:
        return HttpResponse(status=400)
    return HttpResponse(status=204)


@method_decorator([never_cache, signed_in], name="dispatch")
class PasswordView(OwnPasswordView):
    """Change one's own password; people who sign in elsewhere are redirected."""

    template_name = "assistant/accounts/password_change.html"
    success_url = reverse_lazy("assistant:account")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user: Any = request.user
        if not user.has_usable_password() or not is_sign_in_ours():
            return redirect("assistant:account")
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, gettext("Your password was changed."))
        return super().form_valid(form)
