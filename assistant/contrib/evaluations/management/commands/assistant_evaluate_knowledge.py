"""`manage.py assistant_evaluate_knowledge`: what a tenant's search finds of questions whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.evaluations.services.knowledge_evaluation import HALVES, CaseError, Figures, evaluate, read_cases
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.services.knowledge.evidence import find, lines_of
from assistant.services.knowledge.reach import whole_reach

# Passages that a search returns, of which the first five count.
_LIMIT = 10


class Command(OperatorCommand):
    help = (
        "Search a tenant's documents for the questions of a file, and say how many were found: among the first five "
        "passages, in the first place, and which questions were refused. Each line of the file is a JSON object with "
        "kind, language, question, wordings, expected (a text of each passage that is needed) and half."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines; - reads standard input.")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--half", choices=HALVES, help="Only the cases for development, or those for tests.")
        parser.add_argument("--missed", action="store_true", help="Name the questions whose passages were not found.")
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"])
        try:
            with Path("/dev/stdin" if options["file"] == "-" else options["file"]).open(encoding="utf-8") as file:
                cases = read_cases(file)
        except (OSError, UnicodeDecodeError, CaseError) as exc:
            raise CommandError(str(exc)) from exc
        cases = [case for case in cases if options["half"] in (None, case.half)]

        # Otherwise the first search would be timed with what is kept after it.
        lines_of(whole_reach(tenant.pk))

        def texts_found(queries: Sequence[str]) -> list[str]:
            return [hit.passage.text for hit in find(reach=whole_reach(tenant.pk), queries=queries, limit=_LIMIT).hits]

        figures = {
            "the question alone": evaluate(cases, texts_found, with_wordings=False),
            "with wordings": evaluate(cases, texts_found, with_wordings=True),
        }
        if options["json"]:
            values = {way: {kind: asdict(one) for kind, one in found.items()} for way, found in figures.items()}
            self.stdout.write(json.dumps(values, indent=2, ensure_ascii=False))
            return
        for way, found in figures.items():
            self.stdout.write(f"\n{way}")
            self._print(found, names_missed=options["missed"])

    def _print(self, found: Mapping[str, Figures], *, names_missed: bool) -> None:
        self.stdout.write(f"{'kind':<18}{'cases':>6}{'@1':>6}{'@5':>6}{'MRR':>7}{'refused':>9}{'median':>10}")
        for kind, figures in found.items():
            self.stdout.write(
                f"{kind:<18}{figures.cases:>6}{figures.first:>6}{figures.fifth:>6}{figures.mrr:>7.2f}"
                f"{figures.refused:>9}{figures.median_milliseconds:>7.0f} ms"
            )
            for question in figures.missed if names_missed else ():
                self.stdout.write(f"    {question}")
