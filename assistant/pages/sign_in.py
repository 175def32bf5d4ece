"""The sign-in page, the change of one's own password, and the answer where sign-in was tried too often."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView, redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.views import View

from assistant.pages.added_parts import parts_of
from assistant.services.signin.guard import check_own_password, guard, remember_device
from assistant.services.signin.limits import TooManySignIns
from assistant.services.signin.sign_in_page import is_sign_in_ours, sign_in_name
from assistant.services.tenancy.brands import brand_of_sign_in
from assistant.services.tenancy.sign_in_steps import page_of_app


class SignInForm(AuthenticationForm):
    """Counts the sign-in itself, because a project may not have `SignInGuard` among its backends."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name and password and self.request is not None:
            guard(self.request, {"username": name, "password": password})
        return super().clean()


class LimitedView(View):
    """A page that checks a password: answers 429 above a limit, and remembers the device that succeeded."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = super().dispatch(request, *args, **kwargs)
        except TooManySignIns as exc:
            return too_many(request, exc)
        if isinstance(response, HttpResponse):
            remember_device(request, response)
        return response


class SignInView(LimitedView, LoginView):
    """The sign-in page of the chat. It leads to the project's own, if LOGIN_URL names one."""

    template_name = "assistant/chat/login.html"
    next_page = "assistant:home"
    redirect_authenticated_user = True
    authentication_form = SignInForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | sign_in_context(self.request)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if page := page_of_app():
            # This page asks for no more than a password.
            return redirect(f"{page}?{request.GET.urlencode()}")
        if not is_sign_in_ours():
            self.request = request
            return redirect_to_login(self.get_redirect_url() or reverse("assistant:home"))
        return super().dispatch(request, *args, **kwargs)


class SignOutView(LogoutView):
    """Ends the session, here or at the project's own page (`ASSISTANT_LOGOUT_URL`), which gets the same POST."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.ASSISTANT_LOGOUT_URL:
            return redirect(settings.ASSISTANT_LOGOUT_URL, preserve_request=True)
        return super().post(request, *args, **kwargs)

    def get_default_redirect_url(self) -> str:
        """Return where the project sends people who have signed out; its sign-in page if it does not say."""
        return resolve_url(settings.LOGOUT_REDIRECT_URL or settings.LOGIN_URL)


def sign_in_context(request: HttpRequest) -> dict[str, Any]:
    """Return what each sign-in page shows besides its form."""
    return {
        "sign_in_name": sign_in_name(),
        "brand": brand_of_sign_in(request),
        **parts_of("sign-in", request),
    }


class OwnPasswordForm(PasswordChangeForm):
    """Counts and records wrong old passwords as sign-ins, since a stolen session could be used to guess."""

    request: HttpRequest
    required_css_class = "required"

    def clean_old_password(self) -> str:
        password = str(self.cleaned_data["old_password"])
        if not check_own_password(self.request, password):
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return password


class OwnPasswordView(LimitedView, PasswordChangeView):
    """Changes the password of the person who is signed in."""

    form_class = OwnPasswordForm

    def get_form(self, form_class: Any = None) -> Any:
        form: Any = super().get_form(form_class)
        form.request = self.request
        return form


class SignInLimits(MiddlewareMixin):
    """Middleware that answers refused sign-ins of all other pages, such as the admin's."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 429; leave every other exception alone."""
        return too_many(request, exception) if isinstance(exception, TooManySignIns) else None

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Remember the device of somebody who has just signed in."""
        remember_device(request, response)
        return response


def too_many(request: HttpRequest, refusal: TooManySignIns) -> HttpResponse:
    """Return the page that says when sign-in can be tried again."""
    response = render(request, "assistant/chat/too_many_sign_ins.html", {"sentence": str(refusal)}, status=429)
    response["Retry-After"] = str(refusal.retry_after)
    response["Cache-Control"] = "no-store"
    return response
