"""A decorator for pages of people whose sign-in is complete."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from assistant.services.tenancy.sign_in_steps import answer_to_lack


def signed_in(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Require a user who has completed the sign-in, with all that optional apps ask for."""

    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return answer_to_lack(request) or view(request, *args, **kwargs)

    return checked
