"""URLs of the app: pages, and addresses for programs.

A project whose pages have a language in their addresses mounts `assistant.page_urls` and `assistant.api_urls` apart.
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from assistant import health, optional_apps
from assistant.api.addresses import take_either_slash
from assistant.api.authentication import nothing_here
from assistant.asgi.mounts import beside_the_site
from assistant.pages import (
    account,
    chat,
    conversation_list,
    sign_in,
)
from assistant.services import addresses
from assistant.services.db.own_transactions import use_own_transactions

app_name = addresses.PAGES
_pages = [
    path("", chat.home, name="home"),
    path("t/<slug:tenant>/", chat.chat, name="chat"),
    path("t/<slug:tenant>/conversations/", conversation_list.conversations, name="conversations"),
    path("t/<slug:tenant>/c/<uuid:thread>/", chat.thread, name="thread"),
    path("t/<slug:tenant>/c/<uuid:thread>/rename/", chat.rename, name="rename-conversation"),
    path("t/<slug:tenant>/c/<uuid:thread>/delete/", chat.delete, name="delete-conversation"),
    path("t/<slug:tenant>/c/<uuid:thread>/pin/", conversation_list.pin, name="pin-conversation"),
    path("t/<slug:tenant>/c/<uuid:thread>/archive/", conversation_list.archive, name="archive-conversation"),
    path("accounts/login/", sign_in.SignInView.as_view(), name="login"),
    path("accounts/logout/", sign_in.SignOutView.as_view(), name="logout"),
    path("accounts/settings/", account.account, name="account"),
    path("accounts/settings/theme/", account.theme, name="account-theme"),
    path("accounts/settings/password/", account.PasswordView.as_view(), name="account-password"),
]
_probes = [path(address, view) for address, view in health.PROBES.items()]
_apis: list[URLPattern | URLResolver] = [
    path("ws/<slug:tenant>/<slug:assistant>/", beside_the_site, name="websocket"),
    path("api/", include("assistant.api.urls")),
    path("api", nothing_here),
]
_added = optional_apps.urlpatterns()
_for_programs = ("/api/", *optional_apps.paths_for_programs())
_added_apis = [entry for entry in _added if f"/{entry.pattern}/".startswith(_for_programs)]

page_urlpatterns = [*_pages, *(entry for entry in _added if entry not in _added_apis)]
# The apps' come first, because what is left below `api/` is answered there.
api_urlpatterns = [*_probes, *take_either_slash([*_added_apis, *_apis])]
urlpatterns = [*page_urlpatterns, *api_urlpatterns]
use_own_transactions(urlpatterns)
