"""Every page begins with its language; APIs, probes and sockets do not."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("", lambda request: HttpResponse("The CRM's own front page"), name="home"),
    path("assistant/", include("assistant.api_urls")),
]
urlpatterns += i18n_patterns(
    path("admin/", admin.site.urls),
    path("assistant/panel/", include("assistant.contrib.panel.panel_urls")),
    path("assistant/", include("assistant.page_urls")),
)
