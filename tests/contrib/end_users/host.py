"""A site of another origin, as docs/widget.md tells its reader to write it.

`python -m tests.contrib.end_users.host PORT` serves it.

`ASSISTANT_URL` and `ASSISTANT_KEY` are what the document asks for. Who is signed in says the cookie `user`.
"""

from __future__ import annotations

import sys
from socketserver import ThreadingMixIn
from types import SimpleNamespace
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of-a-shop",
    LOGIN_URL="/sign-in/",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
    MIDDLEWARE=[f"{__name__}.sign_in_by_cookie", f"{__name__}.add_policy"],
)

import os  # noqa: E402

import django  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402

from tests.docs.snippets import ROOT, blocks  # noqa: E402

DOCUMENT = ROOT / "docs/widget.md"
django.setup()


def adapted(text: str) -> str:
    """A snippet with the assistant's address in it."""
    url = os.environ["ASSISTANT_URL"]
    return text.replace("http://127.0.0.1:8000", url).replace("ws://127.0.0.1:8000", url.replace("http", "ws", 1))


def policy() -> str:
    (found,) = [block.text for block in blocks(DOCUMENT, "text") if "csp" in block.words]
    return adapted(found).strip()


HEAD = "<!doctype html><html lang=en><title>Shop</title><meta name=viewport content=width=device-width>"


def page(request: HttpRequest) -> HttpResponse:
    (snippet,) = blocks(DOCUMENT, "html")
    attributes = request.GET.get("attributes", "")
    text = adapted(snippet.text).replace("<tenant-assistant ", f"<tenant-assistant {attributes} ")
    return HttpResponse(f"{HEAD}<h1>Umbrellas</h1>{text}</html>")


def sign_in_by_cookie(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        name = request.COOKIES.get("user", "")
        request.user = SimpleNamespace(pk=name, is_authenticated=bool(name), get_username=name.title)
        return get_response(request)

    return middleware


def add_policy(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        response = get_response(request)
        response["Content-Security-Policy"] = policy()
        return response

    return middleware


view: dict[str, Any] = {"__name__": "shop.views"}
exec(blocks(DOCUMENT, "python")[0].text, view)
urlpatterns = [
    path("", page),
    path("my-token/", view["assistant_token"]),
    path("sign-in/", lambda request: HttpResponse("Please sign in.")),
    path("favicon.ico", lambda request: HttpResponse(status=204)),
]


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


if __name__ == "__main__":
    sys.modules["tests.contrib.end_users.host"] = sys.modules["__main__"]
    make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), server_class=Threaded).serve_forever()
