"""How static files are sent: packed for whoever takes them so, and readable for pages of other origins."""

from __future__ import annotations

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# Pictures and fonts are packed already.
PACKED_TYPES = ("text/", "application/json", "image/svg+xml")
_gzip = GZipMiddleware(lambda request: HttpResponse())


class StaticFiles(ASGIStaticFilesHandler):
    """Static files while developing; pages of other origins may load the widget's modules, as WhiteNoise lets them."""

    def serve(self, request: HttpRequest) -> HttpResponse | FileResponse:
        answer = super().serve(request)
        answer["Access-Control-Allow-Origin"] = "*"
        pack(request, answer)
        return answer


def pack(request: HttpRequest, answer: HttpResponseBase) -> None:
    """Compress the answer with a static file, where it is a whole text and the client takes gzip."""
    if answer.status_code != 200 or not answer.get("Content-Type", "").startswith(PACKED_TYPES):
        return
    # Whether it has changed tells its date: a tag would be that of the bytes as they lie on the disk.
    del answer["ETag"]
    _gzip.process_response(request, answer)
