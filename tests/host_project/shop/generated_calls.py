"""Calls every tool with generated arguments as several members, and prints what came back that should not have.

Run with `GENERATED_CALLS` for their number, and `HOST_ROLE` for a role that row-level security holds for.
"""

import asyncio
import json
import os
import random
import re

from django.db import connection

from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import ToolError
from preparing import prepare
from staged import HIDDEN, SLUGS, context_for

# In a column of numbers that no tool shows.
HIDDEN_NUMBER = "777"
CALLS = int(os.environ["GENERATED_CALLS"])
# Those of models, and of the API.
READING = ("find", "get", "summarise", "list", "retrieve", "mine")
TOOLS = [tool for tool in catalogue.registry() if tool.name.split("_")[0] in READING and tool.read_only]


def values_of(staged):
    """Values that calls may name: texts, keys and dates of both companies, and nonsense."""
    rows = [row for company in staged.values() for group in company.rows.values() for row in group]
    keys = [str(row.pk) for row in rows]
    texts = [f"{slug}-{what}" for slug in SLUGS for what in ("customer-1", "comment-2", "lamp", "iban", "")]
    orders = [f"{sign}{name}" for name in ("number", "api_key", "margin", "company__slug") for sign in ("", "-")]
    return keys, [*texts, *orders, HIDDEN, "", "%", "'", "\0", "ä" * 200, "0"]


def argument(schema, source, keys, texts):
    """A value that fits a schema, most of the time one that is somewhere in the database."""
    kind = schema.get("type")
    if "enum" in schema:
        return source.choice(schema["enum"])
    if kind == "object":
        properties = schema["properties"]
        wanted = max(schema.get("minProperties", 0), source.choice((0, 1, 1, 2)))
        names = {*schema.get("required", ()), *source.sample(sorted(properties), min(wanted, len(properties)))}
        return {name: argument(properties[name], source, keys, texts) for name in sorted(names)}
    if kind == "array":
        count = source.randint(schema.get("minItems", 0), min(schema.get("maxItems", 3), 3))
        return [argument(schema["items"], source, keys, texts) for _ in range(count)]
    if kind == "boolean":
        return source.random() < 0.5
    if kind == "integer":
        return source.choice((1, 2, schema.get("minimum", -5), schema.get("maximum", 2**70)))
    if kind == "number":
        return source.choice((0, 1, 103, 50.5, -3, 10**7, 1e30))
    if "date" in schema.get("description", "").lower():
        return source.choice(("2031-02-01", "2031-02-05T10:00:00+01:00", "2031-01-31T23:30:00", "0001-01-01", "soon"))
    return source.choice(texts if source.random() < 0.5 else keys)


def called(tool, arguments, context):
    """What a tool's call gave: how it ended, and the text."""
    try:
        with tenant_scope(context.tenant.pk):
            return "ok", asyncio.run(tool.call(json.dumps(arguments), context)).content
    except ToolError as exc:
        return "told", str(exc)
    except Exception as exc:
        return "failed", f"{type(exc).__name__}: {exc}"


def foreign_to(slug, staged):
    """Texts that no answer for a company may have: those of the other one, and of hidden columns."""
    (other,) = (one for one in SLUGS if one != slug)
    rows = staged[other].rows
    keys = [str(row.pk) for name in ("Customer", "Order") for row in rows[name]]
    return [f'"{other}-', f'@{other}.example"', HIDDEN, HIDDEN_NUMBER, "Hidden", *keys]


def of_anybody(staged):
    """Texts that no answer for an end user may have: those of any row."""
    return [text for slug in SLUGS for text in foreign_to(slug, staged)]


def is_in(one, text):
    """Whether a text has another; a number by itself, since random keys have its digits too."""
    return re.search(rf"(?<![\w-]){HIDDEN_NUMBER}(?![\w-])", text) is not None if one == HIDDEN_NUMBER else one in text


def database_user():
    """Whom the database takes the tools' connections for."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user" if connection.vendor == "postgresql" else "SELECT 'nobody'")
        return cursor.fetchone()[0]


staged = prepare()
source = random.Random(7)
keys, texts = values_of(staged)
members = [(slug, person) for slug in SLUGS for person in [*staged[slug].people, staged[slug].end_user]]
# Those that take a key are compared below.
calls = {tool.name: 0 for tool in TOOLS if "id" not in tool.parameters.get("required", ())}
wrong = []
ended = {"ok": 0, "told": 0, "failed": 0}
for _ in range(CALLS):
    slug, person = source.choice(members)
    tool = source.choice(TOOLS)
    arguments = argument(tool.parameters, source, keys, texts)
    how, text = called(tool, arguments, context_for(slug, person))
    ended[how] += 1
    if tool.name in calls:
        calls[tool.name] += how == "ok"
    # An error may repeat what the call has said, and nothing else.
    said = json.dumps(arguments, ensure_ascii=False)
    is_end_user = person == staged[slug].end_user
    hidden = of_anybody(staged) if is_end_user else foreign_to(slug, staged)
    # Links to pages repeat what the call has said.
    text = re.sub(r'"(next|previous)":"[^"]*"', "", text)
    found = [one for one in hidden if is_in(one, text) and (how == "ok" or not is_in(one, said))]
    if found or how == "failed":
        wrong.append([tool.name, arguments, how, text[:300], found])
differing = []
names = {"Customer": "get_customer", "Order": "get_order", "Line": "get_line", "Payment": "get_payment"}
for name, tool_name in [*names.items(), ("Order", "retrieve_api_order")]:
    tool = next(one for one in TOOLS if one.name == tool_name)
    theirs = staged["globex"].rows[name][1 if name in ("Order", "Customer") else 0].pk
    absent = "9" * 6 if isinstance(theirs, int) else "00000000-0000-4000-8000-000000000000"
    answers = {
        called(tool, {"id": int(key) if isinstance(theirs, int) else str(key)}, context_for("acme", person))
        for person in staged["acme"].people
        for key in (theirs, absent)
    }
    if len(answers) != 1:
        differing.append([tool_name, sorted(answers)])
unanswered = [name for name, count in calls.items() if not count]
told = {"wrong": wrong[:5], "count": len(wrong), "ended": ended, "differing": differing, "unanswered": unanswered}
told["user"] = database_user()
print(json.dumps(told))
