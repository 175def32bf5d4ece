"""docs/backup.md, word for word: rows, an attached file and a stored secret are there again after a restore."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from tests import live
from tests.docs.reader import Reader
from tests.docs.snippets import ROOT, blocks
from tests.python_template import forked_python

DOCUMENT = ROOT / "docs/backup.md"
FOLDER = "/var/lib/tenant-assistant/attachments"
# The line of the heading after which the blocks restore.
RESTORES_FROM = DOCUMENT.read_text().splitlines().index("## Restore") + 1
STORE = """
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from assistant.models import Attachment, Provider
from assistant.services.tenancy.tenants import create_tenant
user = get_user_model().objects.create_superuser("boss", password="a-better-one-than-this")
tenant = create_tenant(slug="initech", name="Initech", owner="boss")
Provider.objects.create(tenant=tenant, name="Own", base_url="https://models.example.com/v1", api_key="sk-goldammer")
stored = Attachment(tenant=tenant, user=user, name="a.txt", kind="text", media_type="text/plain", size=6)
stored.file.save("a.txt", ContentFile(b"zebras"))
"""
READ = """
from assistant.models import Attachment, Provider
print(Provider.objects.get(tenant__slug="initech").api_key, Attachment.objects.get().file.read().decode())
"""


class Site:
    """A database, keys and attached files of its own, and who follows the page beside them."""

    def __init__(self, folder: Path, kind: str, **environment: str) -> None:
        self.folder = folder / "site"
        self.kind = kind
        self.folder.mkdir()
        (self.folder / "manage.py").symlink_to(ROOT / "manage.py")
        kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
        own = {
            "PATH": f"{forked_python().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ENV_FILE": os.devnull,
            "ASSISTANT_DATA_DIR": str(self.folder),
            "ASSISTANT_ATTACHMENTS_DIR": str(self.folder / "attachments"),
            "ASSISTANT_FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "SECRET_KEY": "of-a-site-that-is-lost-and-found-0123456789",
            "INSECURE_HTTP": "true",
        }
        self.reader = Reader(self.folder, kept | own | environment)
        self.names = {"owner": environment.get("PGUSER", ""), "database": "of_the_page"}

    def shell(self, code: str) -> str:
        return self.reader.run(f"python manage.py shell -v0 -c '{code}'".replace("'initech'", '"initech"'))

    def follow(self, *, restores: bool) -> None:
        """Run the blocks that back up, or those that restore."""
        chosen = [block for block in blocks(DOCUMENT, "sh") if {*block.words} <= {self.kind}]
        for block in chosen:
            if (block.line > RESTORES_FROM) == restores:
                self.reader.run(self._own(block.text))

    def _own(self, text: str) -> str:
        """The block with the names of this site, and without roles: those are the cluster's, which other tests use."""
        text = "\n".join(line for line in text.splitlines() if "roles.sql" not in line).replace(FOLDER, "attachments")
        text = re.sub(r"(--owner|--role)=assistant\b", rf"\1={self.names['owner']}", text)
        return re.sub(r"(--dbname=| )assistant(?= |$)", rf"\1{self.names['database']}", text, flags=re.MULTILINE)


def check_restoring(site: Site) -> None:
    """Store, back up, lose everything but the backup and the keys, restore, and find all of it."""
    site.reader.run("python manage.py migrate -v0")
    site.shell(STORE)
    site.follow(restores=False)
    shutil.rmtree(site.folder / "attachments")
    if site.kind == "sqlite":
        (site.folder / "db.sqlite3").unlink()
    else:
        site.reader.run(f"dropdb {site.names['database']}")
    site.follow(restores=True)
    assert site.shell(READ).splitlines()[-1] == "sk-goldammer zebras"
    site.reader.run(f"export ASSISTANT_FIELD_ENCRYPTION_KEYS={Fernet.generate_key().decode()}")
    with pytest.raises(AssertionError, match="1 values cannot be read with any of ASSISTANT_FIELD_ENCRYPTION_KEYS"):
        site.reader.run("python manage.py assistant_rotate_encryption")


@pytest.mark.once
@pytest.mark.timeout(300)
def test_what_was_backed_up_on_sqlite_is_there_after_a_restore(tmp_path: Path) -> None:
    check_restoring(Site(tmp_path, "sqlite"))


@pytest.mark.services
@pytest.mark.django_db
@pytest.mark.timeout(300)
def test_what_was_backed_up_on_postgresql_is_there_after_a_restore(tmp_path: Path) -> None:
    url = urlsplit(live.test_database_url())
    name = f"{connection.settings_dict['NAME']}_backup"
    site = Site(
        tmp_path, "postgresql", DATABASE_URL=url._replace(path=name).geturl(), PGHOST=url.hostname or "",
        PGPORT=str(url.port or 5432), PGUSER=unquote(url.username or ""), PGPASSWORD=unquote(url.password or ""),
    )  # fmt: skip
    site.names["database"] = name
    site.reader.run(f"dropdb --if-exists {name}\ncreatedb {name}")
    try:
        check_restoring(site)
    finally:
        site.reader.run(f"dropdb --if-exists {name}")
