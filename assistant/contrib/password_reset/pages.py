"""Password reset by e-mail: Django's views in this site's pages.

They do not exist without e-mail, or where the project has its own sign-in.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.sites.shortcuts import get_current_site
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext, override
from django.views.decorators.cache import never_cache

from assistant.contrib.password_reset.sending import send_soon
from assistant.pages.sign_in import too_many
from assistant.services.signin.limits import TooManySignIns, admit
from assistant.services.signin.sign_in_page import is_sign_in_ours
from assistant.services.tenancy.mail import is_mail_configured
from assistant.services.tenancy.person_settings import language_of


def _check_configured() -> None:
    if not is_mail_configured() or not is_sign_in_ours():
        raise Http404("Passwords cannot be reset by e-mail here.")


class ResetForm(PasswordResetForm):
    """Looks accounts up, and leaves the rest to a thread: the response time must not reveal an account."""

    _found: list[Any]
    _languages: dict[Any, str]

    def get_users(self, email: str) -> Any:
        """Return the accounts that were found; Django's `save` asks in the thread."""
        return self._found

    def save(self, *, request: HttpRequest | None = None, **options: Any) -> None:  # type: ignore[override]
        self._found = list(super().get_users(self.cleaned_data["email"]))
        self._languages = {user.pk: language_of(user) for user in self._found}
        options["domain_override"] = get_current_site(request).domain
        send_soon(partial(super().save, **options))

    def send_mail(self, subject: str, text: str, context: dict[str, Any], *rest: Any, **how: Any) -> None:  # type: ignore[override]
        """Send the message in the language of the account."""
        with override(self._languages[context["user"].pk]):
            super().send_mail(subject, text, context, *rest, **how)


class ResetView(views.PasswordResetView):
    """Ask for the address; the answer is the same whether there is an account."""

    form_class = ResetForm
    template_name = "assistant/accounts/password_reset.html"
    email_template_name = "assistant/mail/password_reset.txt"
    subject_template_name = "assistant/mail/password_reset_subject.txt"
    success_url = reverse_lazy("assistant:password-reset-sent")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _check_configured()
        return super().dispatch(*args, **kwargs)

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        try:
            if settings.ASSISTANT_SIGN_IN_LIMITS:
                # Counted as a sign-in of this address, so that nobody's mailbox is filled.
                address = str(self.request.META.get("REMOTE_ADDR") or "")
                admit(name=f"password reset {form.cleaned_data['email']}", address=address)
        except TooManySignIns as exc:
            return too_many(self.request, exc)
        return super().form_valid(form)


class SentView(views.PasswordResetDoneView):
    """Say that a message is on its way, if there is such an account."""

    template_name = "assistant/accounts/password_reset_sent.html"


class NewPasswordView(views.PasswordResetConfirmView):
    """Ask for the new password."""

    template_name = "assistant/accounts/password_new.html"
    success_url = reverse_lazy("assistant:login")

    def form_valid(self, form: SetPasswordForm[Any]) -> HttpResponse:
        answer = super().form_valid(form)
        messages.success(self.request, gettext("Your password was changed."))
        return answer

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _check_configured()
        return super().dispatch(*args, **kwargs)


@never_cache
def reset_link(request: HttpRequest) -> HttpResponse:
    """Take the token of the e-mail's link into the session, where Django's view looks for it.

    It comes in the query string, which is not logged as paths are.
    """
    _check_configured()
    request.session[views.INTERNAL_RESET_SESSION_TOKEN] = request.GET.get("token", "")[:200]
    uid = request.GET.get("uid", "")[:100] or "-"
    return HttpResponseRedirect(reverse("assistant:password-new", args=[uid, NewPasswordView.reset_url_token]))
