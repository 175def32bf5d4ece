"""URLs of sign-in by OpenID Connect. A project includes them at `accounts/`, before the assistant's own.

The names are django-allauth's. With a second factor `assistant.contrib.sign_in.pages.urls` has its page for closed
accounts.
"""

from __future__ import annotations

from django.conf import settings
from django.urls import path
from django.views.generic import RedirectView, TemplateView

from assistant.contrib.sign_in.pages import oidc_views

_closed = TemplateView.as_view(template_name="assistant/accounts/inactive.html")
_to_sign_in = RedirectView.as_view(pattern_name="assistant:login", query_string=True)

urlpatterns = [
    path("oidc/login/", oidc_views.leave, name="openid_connect_login"),
    path("oidc/callback/", oidc_views.come_back, name="openid_connect_callback"),
    path("oidc/disconnect/", oidc_views.disconnect_own, name="openid_connect_disconnect"),
    path("oidc/cancelled/", _to_sign_in, name="socialaccount_login_cancelled"),
]
if settings.ASSISTANT_SECOND_FACTOR == "off":
    urlpatterns += [
        path("inactive/", _closed, name="account_inactive"),
        path("oidc/sign-in/", _to_sign_in, name="account_login"),
    ]
