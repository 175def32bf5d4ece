"""The project's own pages, some of whose names the apps use too, and the apps below an address of their own."""

from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

urlpatterns = [
    path("", lambda request: HttpResponse("The CRM's own front page"), name="home"),
    path("sign-in/", LoginView.as_view(template_name="admin/login.html", next_page="home"), name="login"),
    path("api/imports/", csrf_exempt(lambda request: HttpResponse(f"{len(request.body)} bytes"))),
    path("admin/", admin.site.urls),
    path("assistant/", include("assistant.urls")),
]
