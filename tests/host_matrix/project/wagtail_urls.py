"""Wagtail's admin, documents and pages; its pages answer whatever nothing else does."""

from django.urls import include, path
from matrix_urls import urlpatterns as own
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as wagtailadmin_urls
from wagtail.documents import urls as wagtaildocs_urls

urlpatterns = [
    *own,
    path("cms/", include(wagtailadmin_urls)),
    path("documents/", include(wagtaildocs_urls)),
    path("pages/", include(wagtail_urls)),
]
