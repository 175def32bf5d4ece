"""Settings of the test suite: the deployment's own, on the databases that TEST_DATABASE_URL and TEST_REDIS_URL name."""

import atexit
import os
import shutil
import sys
import tempfile
from urllib.parse import urlsplit, urlunsplit

# Also where PYTHONDONTWRITEBYTECODE is set, as in many images: without bytecode every test run rewrites the assertions
# of all tests, and each of hundreds of processes compiles the whole application, which takes half of its start.
sys.dont_write_bytecode = False

os.environ["ENV_FILE"] = os.devnull
os.environ["DEBUG"] = "false"
os.environ["INSECURE_HTTP"] = "true"
os.environ["SECRET_KEY"] = "only-for-the-tests-and-therefore-no-secret-0123456789"
os.environ["ALLOWED_HOSTS"] = "localhost,127.0.0.1,testserver"
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")


def _folder(prefix: str) -> str:
    """Make a folder that is deleted with this process, but not with a server that is forked from it."""
    made, owner = tempfile.mkdtemp(prefix=prefix), os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(made, ignore_errors=True))
    return made


os.environ["ASSISTANT_ATTACHMENTS_DIR"] = _folder("tenant-assistant-files-")
os.environ["REDIS_URL"] = os.environ.get("TEST_REDIS_URL", "")
# A test's provider answers what the test asks; tests of titles switch them on.
os.environ.setdefault("ASSISTANT_GENERATED_TITLES", "false")
for _name in ("API_KEY", "BASE_URL", "MODEL", "WIRE_FORMAT"):
    os.environ.pop(f"OPENAI_{_name}", None)
for _name in ("ASSISTANT_LOCAL_MODEL_URL", "ASSISTANT_FIELD_ENCRYPTION_KEYS"):
    os.environ.pop(_name, None)

from config.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEBUG = False
# Servers outlive a test, and would send deliveries that the next test expects to send itself.
ASSISTANT_WEBHOOKS_FROM_SERVER = False
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # A file, because live servers and tool threads open connections of their own. Each process has one, so that two
    # runs of the suite do not share it; it is deleted with the process.
    DATABASES["default"]["TEST"] = {"NAME": f"{_folder('tenant-assistant-')}/test.sqlite3"}  # noqa: F405
    # Nobody reads it after the machine has failed.
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"  # noqa: F405

_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if ASSISTANT_REDIS_URL and _worker:  # noqa: F405
    # Workers have databases of their own, with the same primary keys, so they must not share event logs either.
    _url = urlsplit(ASSISTANT_REDIS_URL)  # noqa: F405
    _number = int(_url.path.strip("/") or 0) + 1 + int(_worker.removeprefix("gw"))
    ASSISTANT_REDIS_URL = urlunsplit(_url._replace(path=f"/{_number}"))


INSTALLED_APPS = [*INSTALLED_APPS, "tests.emptying"]  # noqa: F405
if os.environ.get("TEST_APPS") == "core":
    # As in a host project that installs no optional app.
    INSTALLED_APPS = [app for app in INSTALLED_APPS if not app.startswith("assistant.contrib.")]
    INSTALLED_APPS.remove("config.apps.CheckoutConfig")
    MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("assistant.contrib.")]  # noqa: F405
    if os.environ.get("TEST_SUMS") != "no":
        INSTALLED_APPS.append("tests.sums")
    INSTALLED_APPS[INSTALLED_APPS.index("config.apps.PanelConfig")] = "django.contrib.admin"
# It makes statements for the first page of each session, which tests that count them would have to allow for. Its own
# tests add it.
MIDDLEWARE = [name for name in MIDDLEWARE if not name.endswith(".NoteSessions")]
_serving = {"config.staticfiles.StaticFilesMiddleware": "tests.staticfiles.StaticFilesScannedOnce"}
MIDDLEWARE = [_serving.get(name, name) for name in MIDDLEWARE]
if ASSISTANT_SECOND_FACTOR == "off" and os.environ.get("TEST_APPS") != "core":  # noqa: F405
    # Their tables are there for tests that switch it on (tests/contrib/sign_in/accounts), but no page leads to them.
    from assistant.contrib.sign_in.allauth_settings import *  # noqa: F403

    INSTALLED_APPS = [*dict.fromkeys([*SECOND_FACTOR_APPS, *OIDC_APPS]), *INSTALLED_APPS]  # noqa: F405
    MIDDLEWARE = [*MIDDLEWARE, *SECOND_FACTOR_MIDDLEWARE]  # noqa: F405
if os.environ.get("RECORD_RUNS"):
    INSTALLED_APPS = [*INSTALLED_APPS, "tests.recording"]
