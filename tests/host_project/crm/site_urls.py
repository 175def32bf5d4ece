"""The project's own pages, some of whose names the apps use too, and the apps below an address of their own."""

from threading import Barrier, BrokenBarrierError

from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

# A page that is answered when so many requests are in it at once.
BARRIER = Barrier(64)


@transaction.non_atomic_requests
def together(request):
    try:
        BARRIER.wait(30)
    except BrokenBarrierError:
        return HttpResponse("Some have to wait outside.", status=503)
    return HttpResponse("All are here.")


urlpatterns = [
    path("together/", together),
    path("", lambda request: HttpResponse("The CRM's own front page"), name="home"),
    path("sign-in/", LoginView.as_view(template_name="admin/login.html", next_page="home"), name="login"),
    path("api/imports/", csrf_exempt(lambda request: HttpResponse(f"{len(request.read())} bytes"))),
    path("admin/", admin.site.urls),
    path("assistant/", include("assistant.urls")),
]
