"""`manage.py assistant_bundle`: exports a tenant's or an assistant's configuration, and imports it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.bundles.services.difference import Difference, Entry
from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import MAX_BYTES, Bundle, BundleError
from assistant.contrib.bundles.services.imports import import_bundle, preview_import
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant, Tenant

MAX_SHOWN = 60
_HEADINGS = {
    "create": "to create",
    "change": "to change",
    "refused": "not taken",
    "by_hand": "by hand",
    "kept": "only here, left alone",
}


class Command(OperatorCommand):
    help = "Export the configuration of a tenant or an assistant, without secrets and people, or import it."

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        export = commands.add_parser("export", help="Write a bundle.")
        export.add_argument("tenant", help="The tenant's slug.")
        export.add_argument("--assistant", metavar="SLUG", help="Only this assistant; default the whole tenant.")
        export.add_argument("--file", type=Path, help="Where to write it; default the standard output.")
        imports = commands.add_parser("import", help="Show the difference, and make it.")
        imports.add_argument("tenant", help="The slug of the tenant that gets the configuration.")
        imports.add_argument("file", type=Path)
        imports.add_argument("--dry-run", action="store_true", help="Only show the difference.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["command"] == "export":
            self._export(options)
        else:
            self._import(options)

    def _export(self, options: dict[str, Any]) -> None:
        file = options["file"]
        try:
            text = text_of(_bundle(find_tenant(options["tenant"]), options["assistant"]))
        except BundleError as exc:
            raise CommandError("This cannot be exported: " + "\n".join(exc.problems)) from exc
        if file is None:
            self.stdout.write(text, ending="")
            return
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as exc:
            raise CommandError(f"{file} cannot be written: {exc.strerror}.") from exc
        self.stdout.write(f"Written: {file}")

    def _import(self, options: dict[str, Any]) -> None:
        tenant, file = find_tenant(options["tenant"]), options["file"]
        try:
            with file.open("rb") as opened:
                bundle = read_bundle(opened.read(MAX_BYTES + 1))
        except OSError as exc:
            raise CommandError(f"{file} cannot be read: {exc.strerror}.") from exc
        except BundleError as exc:
            raise CommandError("\n".join(exc.problems)) from exc
        act = preview_import if options["dry_run"] else import_bundle
        self._show(act(bundle=bundle, tenant=tenant, actor=None))
        self.stdout.write("Nothing was changed: a dry run." if options["dry_run"] else "Imported.")

    def _show(self, difference: Difference) -> None:
        for kind, heading in _HEADINGS.items():
            for entry in difference.entries:
                if entry.kind == kind:
                    self.stdout.write(_line(heading, entry))
                    for one in entry.changes:
                        self.stdout.write(f"    {one.name}: {_word(one.before)} → {_word(one.after)}")
        self.stdout.write(f"{difference.counts.get('same', 0)} are the same already.")


def _bundle(tenant: Tenant, slug: str | None) -> Bundle:
    if slug is None:
        return bundle_of_tenant(tenant=tenant)
    row = Assistant.objects.filter(tenant=tenant, slug=slug).select_related("tenant").first()
    if row is None:
        raise CommandError(f"{tenant.slug} has no assistant {slug!r}.")
    return bundle_of_assistant(assistant=row)


def _line(heading: str, entry: Entry) -> str:
    name = f"{entry.section} {entry.name}".strip()
    return f"{heading}: {name}{f': {entry.reason}' if entry.reason else ''}"


def _word(value: object) -> str:
    """Return a value on one line, shortened; a file of a stranger must not write escape sequences to the terminal."""
    text = "—" if value in (None, "", []) else " ".join(str(value).split())
    text = "".join(character if character.isprintable() else "�" for character in text)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
