"""Serves static files: compressed, and readable by pages of other origins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.module_loading import import_string
from django.views.static import serve as serve_from

from assistant.services.languages import FOLDER, catalogue_version

# Images and fonts are compressed already.
COMPRESSED_TYPES = ("text/", "application/json", "image/svg+xml")
# As WhiteNoise does: short, because names without a hash stay the same with the next release.
CACHE_CONTROL = "max-age=60, public"
# Of addresses that change with the file's content.
IMMUTABLE = "max-age=31536000, public, immutable"


class _Packing(GZipMiddleware):
    """Packs files without the random bytes that hide how long a page's secrets are: a file has none."""

    max_random_bytes = 0


_gzip = _Packing(lambda request: HttpResponse())


class StaticFiles(ASGIStaticFilesHandler):
    """Static files during development. Other origins may load the widget's modules, as with WhiteNoise."""

    def serve(self, request: HttpRequest) -> HttpResponse | FileResponse:
        response = super().serve(request)
        response["Access-Control-Allow-Origin"] = "*"
        keep_for_ever(request, response)
        pack(request, response)
        return response


class OwnStaticFiles(StaticFiles):
    """The assistant's own static files without DEBUG, in a project whose process serves none; all others go on.

    Files that `collectstatic` has collected come first, since their names may have a hash.
    """

    def _should_handle(self, path: str) -> bool:
        # A STATIC_URL with a host name is served elsewhere.
        return not self.base_url[1] and path.startswith(f"{self.base_url[2]}assistant/")

    def serve(self, request: HttpRequest) -> HttpResponse | FileResponse:
        name, root = self.file_path(request.path), settings.STATIC_ROOT
        if ".." in Path(name).parts:
            raise Http404
        if root and (Path(root) / name).is_file():
            response: HttpResponse | FileResponse = serve_from(request, name, document_root=str(root))
            response["Access-Control-Allow-Origin"] = "*"
            pack(request, response)
        else:
            response = super().serve(request)
        response["Cache-Control"] = CACHE_CONTROL
        keep_for_ever(request, response)
        return response


def with_static_files(site: Any) -> Any:
    """Return a site that serves static files: with DEBUG all, otherwise the assistant's, unless WhiteNoise serves them.

    The setting ASSISTANT_STATIC_FROM_SERVER is the off switch.
    """
    if settings.DEBUG:
        return StaticFiles(site)
    if not settings.ASSISTANT_STATIC_FROM_SERVER or not settings.STATIC_URL or has_whitenoise():
        return site
    return OwnStaticFiles(site)


def has_whitenoise() -> bool:
    """Return whether the project's middleware is WhiteNoise, or derived from it."""
    classes = [import_string(name) for name in settings.MIDDLEWARE]
    return any(base.__name__ == "WhiteNoiseMiddleware" for found in classes for base in getattr(found, "__mro__", ()))


def keep_for_ever(request: HttpRequest, response: HttpResponseBase) -> None:
    """Let browsers keep a catalogue of texts whose address names the version that is sent."""
    path = Path(request.path)
    version = request.GET.get("v")
    if version and path.parent.match(FOLDER) and version == catalogue_version(path.stem):
        response["Cache-Control"] = IMMUTABLE


def pack(request: HttpRequest, response: HttpResponseBase) -> None:
    """Compress the response with a static file if it is a complete text and the client accepts gzip."""
    if response.status_code != 200 or not response.get("Content-Type", "").startswith(COMPRESSED_TYPES):
        return
    # The ETag is that of the uncompressed file; Last-Modified remains for revalidation. Nobody saves a script by the
    # name that Django adds, and a first visit has fifty of them.
    del response["ETag"]
    del response["Content-Disposition"]
    _gzip.process_response(request, response)
