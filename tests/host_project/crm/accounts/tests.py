"""The project's own tests of its assistant, with Django's runner."""

import asyncio
from pathlib import Path

from accounts.models import Account, Invoice, Seat
from accounts.tools import list_invoices
from assistant.client import ChatClient
from assistant.hosting import host_tenant
from assistant.models import Run
from assistant.testing import (
    AssistantTestMixin,
    CassetteError,
    ChatTester,
    GuestTestMixin,
    NotAdmitted,
    ScriptedModel,
    ToolCall,
    ToolTester,
    tool_context,
)
from assistant.toolkit import ToolContext, tool
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase
from people.models import Person

LOOK = ToolCall("", "list_invoices", "{}")


def open_account(name):
    """Make an account with one invoice and one seat; return it with who sits there."""
    account = Account.objects.create(subdomain=name, company=name.title())
    person = Person.objects.create_user(f"ada@{name}.example")
    Seat.objects.create(account=account, person=person)
    Invoice.objects.create(account=account, number=7, total="12.50")
    return account, person


@tool
def pay_invoice(number: int, context: ToolContext) -> str:
    """Pay an invoice."""
    invoice, _ = Invoice.objects.get_or_create(account=host_tenant(context), number=number, defaults={"total": 0})
    Invoice.objects.filter(pk=invoice.pk).update(total=0)
    return f"paid on connection {id(connection.connection)}"


class ToolTests(TestCase):
    """Plain: `ToolTester.run` needs nothing of its case."""

    def test_a_tool_sees_rows_that_were_not_committed(self):
        account, person = open_account("initech")
        open_account("globex")
        result = ToolTester(list_invoices, tenant=account, user=person).run()
        self.assertEqual(result.value["invoices"], {7: Invoice.objects.get(account=account).total})
        self.assertEqual(result.value["asker"], str(person.pk))

    def test_a_tool_writes_on_the_connection_of_the_test(self):
        account, person = open_account("initech")
        result = ToolTester(pay_invoice.replace(atomic=True), tenant=account, user=person).run(number=7)
        self.assertEqual(result.content, f"paid on connection {id(connection.connection)}")
        self.assertEqual(Invoice.objects.get(account=account).total, 0)

    def test_it_may_be_called_within_a_transaction(self):
        account, person = open_account("initech")
        tester = ToolTester(pay_invoice.replace(atomic=True), tenant=account, user=person)
        with transaction.atomic():
            tester.run(number=8)
        self.assertEqual(Invoice.objects.filter(account=account).count(), 2)

    def test_what_the_tool_wrote_is_rolled_back_with_the_test(self):
        self.assertFalse(Invoice.objects.exists())

    def test_the_context_is_that_of_a_run(self):
        account, person = open_account("initech")
        context = tool_context(account, person)
        self.assertEqual((context.tenant.slug, context.tenant.external_id), ("initech", str(account.pk)))
        self.assertEqual((context.user.id, context.user.username), (person.pk, "ada@initech.example"))
        self.assertEqual(list_invoices(context)["company"], "Initech")

    def test_a_row_without_a_tenant_says_how_to_get_one(self):
        (account,) = Account.objects.bulk_create([Account(subdomain="bulk", company="Bulk")])
        with self.assertRaisesMessage(LookupError, "sync_tenants"):
            ToolTester(list_invoices, tenant=account)
        with self.assertRaisesMessage(TypeError, "accounts.Account"):
            tool_context(Person(), Person())


class ClientTests(AssistantTestMixin, TestCase):
    def test_a_chat_client_runs_the_tools_on_the_tests_rows(self):
        account, person = open_account("initech")
        context = tool_context(account, person)
        client = ChatClient(
            model=ScriptedModel([[LOOK, LOOK], "One."]), tools=[list_invoices],
            context={"tenant": context.tenant, "user": context.user},
        )  # fmt: skip
        reply = asyncio.run(client.call("How many?"))
        self.assertEqual([call.status for call in reply.tool_calls], ["ok", "ok"])
        self.assertIn('"company":"Initech"', reply.tool_calls[0].result)

    async def test_an_async_test_is_no_different(self):
        account = await Account.objects.acreate(subdomain="initech", company="Initech")
        person = await Person.objects.acreate(email="ada@initech.example")
        seat = await Seat.objects.acreate(account=account, person=person)
        self.assertEqual((await Account.objects.aget(seats=seat)).pk, account.pk)

        def tester():
            return ToolTester(pay_invoice, tenant=account, user=person)

        from asgiref.sync import sync_to_async

        made = await sync_to_async(tester)()
        await made.call(number=3)
        self.assertEqual(await Invoice.objects.acount(), 1)


class DoorTests(AssistantTestMixin, TestCase):
    def setUp(self):
        self.account, self.person = open_account("initech")

    def test_over_the_websocket(self):
        model = self.answer(LOOK, "One, of 12.50.", "You are welcome.")
        chat = self.chat(self.account, self.person)
        answer = chat.ask("Which invoices are there?")
        self.assertEqual((answer.text, answer.tool_calls), ("One, of 12.50.", ["list_invoices"]))
        self.assertEqual(answer.tool_results[0]["invoices"], {"7": "12.50"})
        self.assertEqual(chat.ask("Thanks").text, "You are welcome.")
        self.assertEqual(
            [message.content for message in model.requests[-1].messages][-2:], ["One, of 12.50.", "Thanks"]
        )
        self.assertEqual(Run.objects.filter(tenant__external_id=self.account.pk, status="finished").count(), 2)

    def test_over_sse(self):
        self.answer(LOOK, "One, of 12.50.")
        answer = self.chat(self.account, self.person, "helper", door="sse").ask("Which invoices are there?")
        self.assertEqual((answer.text, answer.error), ("One, of 12.50.", ""))
        self.assertEqual(answer.events[0]["type"], "RUN_STARTED")

    def test_strangers_are_refused(self):
        _, stranger = open_account("globex")
        with self.assertRaises(NotAdmitted) as refused, ChatTester(self.account, stranger):
            pass
        self.assertEqual(refused.exception.status, 403)
        with self.assertRaises(NotAdmitted) as refused:
            self.chat(self.account, stranger, door="sse").ask("Which invoices are there?")
        self.assertEqual(refused.exception.status, 404)

    def test_a_failed_run_has_its_code(self):
        self.answer(RuntimeError("down"))
        self.assertEqual(self.chat(self.account, self.person).ask("Hello").error, "internal_error")

    def test_any_frame_can_be_sent(self):
        chat = self.chat(self.account, self.person)
        chat.send({"type": "ping"})
        self.assertEqual(chat.receive()["name"], "pong")


class ApprovalTests(AssistantTestMixin, TestCase):
    def test_a_person_decides(self):
        from assistant.models import ToolSetting

        account, person = open_account("initech")
        tenant = tool_context(account, person).tenant
        ToolSetting.objects.create(tenant_id=tenant.id, tool="list_invoices", policy="ask")
        self.answer(LOOK, "You have one.", LOOK, "Then not.")
        for door in ("websocket", "sse"):
            with ChatTester(account, person, door=door) as chat:
                asked = chat.ask("Which invoices are there?")
                self.assertEqual(len(asked.waiting), 1)
                answer = chat.decide(asked, approved=door == "websocket")
                self.assertEqual(answer.text, "You have one." if door == "websocket" else "Then not.")


class CommittingTests(AssistantTestMixin, TransactionTestCase):
    def test_a_case_that_commits_works_too(self):
        account, person = open_account("initech")
        self.answer(LOOK, "One.")
        self.assertEqual(self.chat(account, person).ask("How many?").text, "One.")


class CassetteTests(AssistantTestMixin, TestCase):
    def test_a_providers_wire_is_replayed(self):
        account, person = open_account("initech")
        cassette = self.cassette("invoices")
        from assistant.testing import answer_with

        with answer_with(cassette.model("gpt-4.1-mini")):
            answer = self.chat(account, person).ask("Which invoices are there?")
        self.assertEqual((answer.text, answer.tool_calls), ("One, of 12.50.", ["list_invoices"]))

    def test_a_missing_cassette_says_how_to_record_it(self):
        with self.assertRaisesMessage(CassetteError, "RECORD_CASSETTES=1"):
            self.cassette("missing", record=False)
        self.assertFalse((Path(__file__).parent / "cassettes/missing.json").exists())


class OwnPageTests(GuestTestMixin, TestCase):
    own_pages = ("/api/imports/", "/", "/sign-in/", "/admin/")

    def own_user(self):
        return Person.objects.create_superuser("root@crm.example", "correct-horse")
