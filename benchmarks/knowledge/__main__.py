"""Stores the corpus in a tenant, or prints the questions about it.

python -m benchmarks.knowledge load acme --style titled --passages 20000
python -m benchmarks.knowledge questions > questions.jsonl
"""

from __future__ import annotations

import argparse
import json
import os

import django


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knowledge")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("questions", help="Print the questions as assistant_evaluate_knowledge reads them.")
    load = actions.add_parser("load", help="Replace a tenant's documents by the corpus.")
    load.add_argument("tenant", help="The tenant's slug; it is made if there is none.")
    load.add_argument("--style", choices=("titled", "headings", "neither"), default="titled")
    load.add_argument("--passages", type=int, default=20_000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from benchmarks.knowledge.corpus import cases, documents

    if options.action == "questions":
        for case in cases():
            print(json.dumps(case, ensure_ascii=False))
        return
    from django.db import transaction

    from assistant.models import Document, Tenant
    from assistant.services.knowledge.documents import add_document
    from assistant.services.tenancy.row_scope import all_tenants

    with all_tenants(), transaction.atomic():
        tenant, _ = Tenant.objects.get_or_create(slug=options.tenant, defaults={"name": options.tenant})
        tenant.documents.all().delete()
        for source in documents(style=options.style, passages=options.passages):
            add_document(tenant=tenant, title=source.title, text=source.text, kind=Document.Kind(source.kind))


if __name__ == "__main__":
    main()
