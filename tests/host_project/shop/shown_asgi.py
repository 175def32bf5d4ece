"""The shop with its static files."""

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from shop_asgi import application as site

files = ASGIStaticFilesHandler(site)


async def application(scope, receive, send):
    is_file = scope["type"] == "http" and scope["path"].startswith("/static/")
    await (files if is_file else site)(scope, receive, send)
