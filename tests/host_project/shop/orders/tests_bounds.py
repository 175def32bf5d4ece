"""Calls that would take too long or cost too much end with a sentence, and nothing waits for them meanwhile."""

import asyncio
import json
from unittest import skipUnless

from assistant.contrib.data.services import rows, summaries
from assistant.contrib.data.services.csv_rows import csv_rows
from assistant.contrib.data.tools import tools_of_plan
from assistant.testing import AssistantTestMixin
from assistant.toolkit import ToolError
from django.db import connection
from django.test import override_settings
from orders.models import Order
from orders.tests import ShopTests
from staged import context_for
from assistant.contrib.data.services.plans import plan_for

IS_POSTGRESQL = connection.vendor == "postgresql"
# A condition that takes a minute, in the words of the database.
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500000000) SELECT max(x) FROM c"
SLOW = "pg_sleep(60) IS NOT NULL" if IS_POSTGRESQL else f"({ENDLESS}) > 0"
TOLD = r"This takes longer than 0.5 seconds\. Narrow it by where: name, email"


def slowly(customers, context):
    return customers.extra(where=[SLOW])


class BoundTests(AssistantTestMixin, ShopTests):
    @override_settings(ASSISTANT_DATA_SECONDS=0.5)
    async def test_a_slow_statement_is_stopped_with_a_sentence_and_the_loop_goes_on(self):
        with self.changed(visible_to=slowly) as plan:
            find, get, summarise = tools_of_plan(plan)
            customer = str(self.acme.rows["Customer"][1].pk)
            for tool, arguments in (
                (find, {"search": "acme"}),
                (get, {"id": customer}),
                (summarise, {"measure": "count", "group_by": ["country__code"]}),
            ):
                context = await asyncio.to_thread(context_for, "acme", self.ada)
                call = asyncio.ensure_future(tool.call(json.dumps(arguments), context))
                turns = 0
                while not call.done():
                    await asyncio.sleep(0.01)
                    turns += 1
                with self.assertRaisesRegex(
                    ToolError, "takes longer than 0.5 seconds. Narrow it by where: name, email"
                ):
                    await call
                self.assertGreater(turns, 5)

    def test_columns_of_an_index_are_named_first_and_those_with_few_values_after_others(self):
        self.assertEqual(
            rows.narrowing_hint(plan_for(Order)), "Narrow it by where: placed_at, customer, status, number, total."
        )

    @skipUnless(IS_POSTGRESQL, "only PostgreSQL is asked what it expects")
    @override_settings(ASSISTANT_DATA_COST=1)
    def test_what_postgresql_expects_to_cost_too_much_is_not_begun(self):
        plan = plan_for(Order)
        context = context_for("acme", self.ada)
        for call in (
            lambda: rows.find(plan, {}, context),
            lambda: rows.find(plan, {"search": "comment"}, context),
            lambda: summaries.summarise(plan, {"measure": "sum", "of": "total"}, context),
            lambda: summaries.summarise(plan, {"measure": "count", "group_by": ["placed_at.month"]}, context),
            lambda: csv_rows(plan, {}, context),
        ):
            with self.assertRaisesRegex(ToolError, r"This would read too much: about [\d,]+ rows. Narrow it by "):
                call()
