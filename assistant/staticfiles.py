"""Serves static files: compressed, and readable by pages of other origins."""

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
        response = super().serve(request)
        response["Access-Control-Allow-Origin"] = "*"
        pack(request, response)
        return response


def pack(request: HttpRequest, response: HttpResponseBase) -> None:
    """Compress the response with a static file if it is a complete text and the client accepts gzip."""
    if response.status_code != 200 or not response.get("Content-Type", "").startswith(COMPRESSED_TYPES):
        return
    # The ETag is that of the uncompressed file; Last-Modified remains for revalidation.
    del response["ETag"]
    _gzip.process_response(request, response)
