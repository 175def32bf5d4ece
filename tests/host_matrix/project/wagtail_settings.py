"""Wagtail's apps, middleware and addresses, as its documentation adds them to a Django project."""

from matrix_settings import *  # noqa: F403
from matrix_settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS[:0] = [
    "wagtail.contrib.forms", "wagtail.contrib.redirects", "wagtail.embeds", "wagtail.sites", "wagtail.users",
    "wagtail.snippets", "wagtail.documents", "wagtail.images", "wagtail.search", "wagtail.admin", "wagtail",
    "modelcluster", "taggit",
]  # fmt: skip
MIDDLEWARE += ["wagtail.contrib.redirects.middleware.RedirectMiddleware"]
WAGTAIL_SITE_NAME = "The CRM"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"
WAGTAILDOCS_EXTENSIONS = ["csv", "pdf", "txt"]
MEDIA_ROOT = "media"
MEDIA_URL = "media/"
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
ROOT_URLCONF = "wagtail_urls"
