"""Stores the corpus in a tenant, or prints the questions about it.

python -m benchmarks.knowledge load acme --style titled --passages 20000
ASSISTANT_EMBEDDINGS=true python -m benchmarks.knowledge embed acme
python -m benchmarks.knowledge questions > questions.jsonl
python -m benchmarks.knowledge wordings acme --url http://127.0.0.1:8011 > by-the-model.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os

import django


def main() -> None:
    options = _options()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if options.action in ("load", "embed"):
        (_load if options.action == "load" else _embed)(options)
        return
    from benchmarks.knowledge.corpus import cases
    from benchmarks.knowledge.wordings import with_written_wordings

    chosen = [
        case for case in cases() if options.kind in ("", case["kind"]) and options.language in ("", case["language"])
    ]
    written = with_written_wordings(chosen, tenant=options.tenant, url=options.url) if options.tenant else chosen
    for case in written:
        print(json.dumps(case, ensure_ascii=False), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knowledge")
    actions = parser.add_subparsers(dest="action", required=True)
    questions = actions.add_parser("questions", help="Print the questions as assistant_evaluate_knowledge reads them.")
    questions.set_defaults(tenant="", url="")
    wordings = actions.add_parser("wordings", help="Print them with what the embedded chat model would search for.")
    wordings.add_argument("tenant", help="The slug of a tenant that has the corpus.")
    wordings.add_argument("--url", required=True, help="Of the model: manage.py assistant_local_model serve.")
    for asked in (questions, wordings):
        asked.add_argument("--kind", default="", help="Only of this kind, such as: other words.")
        asked.add_argument("--language", default="", help="Only in this language: en, de or es.")
    load = actions.add_parser("load", help="Replace a tenant's documents by the corpus.")
    load.add_argument("tenant", help="The tenant's slug; it is made if there is none.")
    load.add_argument("--style", choices=("titled", "headings", "neither"), default="titled")
    load.add_argument("--passages", type=int, default=20_000)
    embed = actions.add_parser("embed", help="Embed the passages of a tenant that have no vector, here and now.")
    embed.add_argument("tenant", help="The tenant's slug.")
    return parser.parse_args()


def _load(options: argparse.Namespace) -> None:
    from django.db import transaction

    from assistant.models import Document, Tenant
    from assistant.services.knowledge.documents import add_document
    from assistant.services.tenancy.row_scope import all_tenants
    from benchmarks.knowledge.corpus import documents

    with all_tenants(), transaction.atomic():
        tenant, _ = Tenant.objects.get_or_create(slug=options.tenant, defaults={"name": options.tenant})
        tenant.documents.all().delete()
        for source in documents(style=options.style, passages=options.passages):
            add_document(tenant=tenant, title=source.title, text=source.text, kind=Document.Kind(source.kind))


def _embed(options: argparse.Namespace) -> None:
    from assistant.contrib.embeddings.services.filling import next_batch, store
    from assistant.models import Tenant
    from assistant.services.tenancy.row_scope import tenant_scope

    tenant_id = Tenant.objects.values_list("pk", flat=True).get(slug=options.tenant)
    with asyncio.Runner() as runner, tenant_scope(tenant_id):
        while (batch := next_batch(tenant_id=tenant_id)) is not None:
            encoded = runner.run(batch.encoder.encode([text for _, text in batch.passages]))
            store(tenant_id=tenant_id, batch=batch, encoded=encoded)


if __name__ == "__main__":
    main()
