"""People who sign in with an address are asked for one, at sign-in and when they are invited."""

import html

from django.conf import settings
from django.test import Client
from django.urls import include, path
from people.models import Person
from staging import prepare

from assistant.contrib.invitations.pages import NewAccountForm

urlpatterns = [path("", include("assistant.urls"))]
settings.ROOT_URLCONF = __name__
prepare()
Person.objects.create_user("dora@crm.example", "a-long-enough-one")
LOGIN, LONG = "/accounts/login/", f"{'d' * 180}@crm.example"
browser = Client(SERVER_NAME="127.0.0.1")

page = browser.get(LOGIN).content.decode()
assert "<span>E-mail address</span>" in page and "User name" not in page
assert f'maxlength="{Person._meta.get_field("email").max_length}"' in page

wrong = browser.post(LOGIN, {"username": LONG, "password": "wrong"})
assert "E-mail address and password do not match." in html.unescape(wrong.content.decode())
right = browser.post(LOGIN, {"username": "dora@crm.example", "password": "a-long-enough-one"})
assert right.status_code == 302

# The account gets the invited address, whatever is posted.
given = {"username": "another@crm.example", "password": "a-long-enough-one"}
invited = NewAccountForm(given, address="eve@crm.example")
assert invited.is_valid() and invited.cleaned_data["username"] == "eve@crm.example"
assert invited.fields["username"].label == "E-mail address"
# Who has got the link another way says it.
passed_on = NewAccountForm(given)
assert passed_on.is_valid() and passed_on.cleaned_data["username"] == "another@crm.example"
print("done")
