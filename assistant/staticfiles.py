"""Serves static files compressed, and to pages of other origins."""

from __future__ import annotations

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# Images and fonts are compressed already.
COMPRESSED_TYPES = ("text/", "application/json", "image/svg+xml")
_gzip = GZipMiddleware(lambda request: HttpResponse())


class StaticFiles(ASGIStaticFilesHandler):
    """Static files during development. Other origins may load the widget's modules, as with WhiteNoise."""

    def serve(self, request: HttpRequest) -> HttpResponse | FileResponse:
        answer = super().serve(request)
        answer["Access-Control-Allow-Origin"] = "*"
        pack(request, answer)
        return answer


def pack(request: HttpRequest, answer: HttpResponseBase) -> None:
    """Compress the response with a static file if it is a complete text and the client accepts gzip."""
    if answer.status_code != 200 or not answer.get("Content-Type", "").startswith(COMPRESSED_TYPES):
        return
    # The ETag is that of the uncompressed file; Last-Modified remains for revalidation.
    del answer["ETag"]
    _gzip.process_response(request, answer)
