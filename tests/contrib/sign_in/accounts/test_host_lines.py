"""The lines of docs/sign-in.md add what they promise to a project whose people sign in with e-mail addresses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.contrib.sign_in.accounts.steps import SECRET

HOST = settings.BASE_DIR / "tests" / "host_project" / "crm"
PROOF = f"""
import sys, django
sys.path.insert(1, {str(HOST)!r})
django.setup()
from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.test.utils import setup_test_environment
setup_test_environment()
call_command("check")
call_command("migrate", verbosity=0)
from allauth.mfa.totp.internal.auth import TOTP
from tests.contrib.sign_in.accounts.steps import SECOND_STEP, SIGN_IN, code_of
root = get_user_model().objects.create_superuser("root@crm.example", "pass-of-root")
settings.MFA_TOTP_PERIOD = 3600
form = {{"username": "root@crm.example", "password": "pass-of-root"}}
browser = Client()
assert reverse("openid_connect_callback") == "/accounts/oidc/callback/"
assert browser.get("/admin/").status_code == 302
assert browser.post(SIGN_IN, form).url == "/assistant/"
assert browser.get("/admin/").url == "/accounts/second-factor/"
TOTP.activate(root, {SECRET!r})
assert Client().get("/assistant/accounts/login/?next=/admin/").url == SIGN_IN + "?next=%2Fadmin%2F"
own = Client()
own.post("/sign-in/", form)
assert own.get("/admin/").url == SIGN_IN + "?next=/admin/", own.get("/admin/").url
browser = Client()
assert browser.post(SIGN_IN, form).url == SECOND_STEP
assert get_user(browser).is_anonymous
wrong = Client().post(SIGN_IN, {{**form, "password": "wrong"}}).content.decode()
assert "E-mail address and password do not match." in wrong, wrong
assert "user name" not in wrong.lower() and "Username" not in wrong, wrong
assert browser.post(SECOND_STEP, {{"code": code_of()}}).url == "/assistant/"
assert browser.get("/admin/").status_code == 200
print("proved")
"""


def test_the_documents_lines_are_enough(tmp_path: Path) -> None:
    text = (settings.BASE_DIR / "docs" / "sign-in.md").read_text()
    lines = re.findall(r"```python\n# mysite/(\w+)\.py\n(.+?)```", text, re.DOTALL)
    for_settings, for_urls = (
        "".join(code for name, code in lines if name == wanted) for wanted in ("settings", "urls")
    )
    assert [name for name, _ in lines] == ["settings", *["settings", "urls"] * 2]
    email = re.search(r'`(ACCOUNT_USER_MODEL_USERNAME_FIELD = "email")`', text)
    assert email is not None
    (tmp_path / "mysite_settings.py").write_text(
        f"from site_settings import *\n{for_settings}\n{email[1]}\nROOT_URLCONF = 'mysite_urls'\n"
        # A wheel has the templates in its package.
        f"TEMPLATES[0]['DIRS'] = [{str(settings.BASE_DIR / 'templates')!r}]\nALLOWED_HOSTS = ['testserver']\n"
        "ASSISTANT_OIDC_ISSUER, ASSISTANT_OIDC_CLIENT_ID, ASSISTANT_OIDC_NAME = 'http://127.0.0.1:1', 'crm', 'CRM ID'\n"
    )
    (tmp_path / "mysite_urls.py").write_text(f"from site_urls import *\n{for_urls}")
    (tmp_path / "proof.py").write_text(PROOF)
    done = subprocess.run(
        [sys.executable, "proof.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{HOST}{os.pathsep}{settings.BASE_DIR}", "HOST_DATABASE": ":memory:",
             "DJANGO_SETTINGS_MODULE": "mysite_settings", "ASSISTANT_SECOND_FACTOR": "",
             "DATABASE_URL": "", "REDIS_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout.endswith("proved\n"), done.stderr[-3000:]
