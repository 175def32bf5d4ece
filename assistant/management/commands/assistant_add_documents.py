"""`manage.py assistant_add_documents`: adds files and folders to a tenant's documents, with a report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.folders import add_files, files_in
from assistant.services.knowledge.places import no_place, place_names

# Exit codes: files were refused; nothing was begun.
REFUSED = 1
NOT_BEGUN = 2


class Command(OperatorCommand):
    help = (
        "Add files, and all files in folders, to a tenant's documents. A file replaces the document of its title or "
        "of a file of its name; what has not changed is left alone. Exits with 1 if files were refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("paths", nargs="+", metavar="PATH", type=Path)
        parser.add_argument(
            "--trusted", action="store_true", help="Their authors may instruct assistants: they mark no conversation."
        )
        parser.add_argument(
            "--collection",
            default="",
            metavar="NAME",
            help="Put them into this collection. Otherwise new ones are for everybody in the tenant.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"])
        try:
            paths = files_in(options["paths"])
        except (DocumentError, OSError) as exc:
            raise CommandError(str(exc), returncode=NOT_BEGUN) from exc
        collection = options["collection"]
        if collection and collection not in place_names(tenant):
            raise CommandError(no_place(collection), returncode=NOT_BEGUN)
        outcomes: Counter[str] = Counter()
        reports = add_files(
            tenant=tenant, paths=paths, actor=None, is_trusted=options["trusted"], collection=collection
        )
        for number, report in enumerate(reports, start=1):
            outcomes[report.outcome] += 1
            about = report.problem or report.title
            self.stdout.write(
                f"{number:>{len(str(len(paths)))}}/{len(paths)} {report.outcome:<9} {report.path}: {about}"
            )
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        self.stdout.write(f"{counts or 'No files'}.")
        if outcomes["refused"]:
            raise CommandError(f"{outcomes['refused']} of {len(paths)} files were refused.", returncode=REFUSED)
