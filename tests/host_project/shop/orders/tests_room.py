"""What operators tick in the room *Data*: beside the code, within its limits, for both companies and all processes."""

from assistant.contrib.data.models import ExposedModel
from assistant.contrib.data.services.exposed_models import CannotExpose, choices_of, expose_model, forget_model
from assistant.contrib.data.services.following import refresh
from assistant.contrib.data.services.plans import plan_for
from assistant.models import AuditEntry, Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.policy import effective_tools
from assistant.toolkit import InvalidArguments
from django.urls import reverse
from orders.models import Customer, Order, Supplier
from orders.tests import ShopTests

LIST = "admin:assistant_data_exposedmodel_changelist"


class RoomTests(ShopTests):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.forget_all)

    def forget_all(self):
        ExposedModel.objects.all().delete()
        refresh()

    def expose(self, label="orders.Supplier", **ticks):
        values = {"is_offered": True, "fields": ["name", "city"], "filters": ["city"]} | ticks
        expose_model(actor=self.staff, label=label, **values)
        refresh()

    def suppliers(self):
        for company in (self.acme, self.globex):
            Supplier.objects.create(
                company=company.company, name=f"{company.company.slug}-wood", city="Graz", phone="1"
            )


class OfferTests(RoomTests):
    def test_a_ticked_model_has_tools_of_the_tenants_rows_alone(self):
        self.suppliers()
        self.expose()
        for company, person in (("acme", self.ada), ("globex", self.globex.people[0])):
            told = self.ask("find_suppliers", person=person, company=company, where={"city": {"is": "graz"}})
            self.assertEqual([row["name"] for row in told["rows"]], [f"{company}-wood"])
            self.assertNotIn("phone", told["rows"][0])

    def test_its_tools_are_off_until_they_are_switched_on(self):
        self.expose()
        tenant = Tenant.objects.get(slug="acme")
        policies = lambda: {  # noqa: E731
            one.tool.name: one.policy
            for one in effective_tools(tenant_id=tenant.pk, user_id=self.ada.pk, assistant_id=None)
        }
        self.assertEqual(policies()["find_suppliers"], "off")
        ToolSetting.objects.create(tenant=tenant, tool="find_suppliers", policy="on")
        self.assertEqual(policies()["find_suppliers"], "on")

    def test_the_code_is_the_limit_of_what_it_exposes(self):
        with self.assertRaisesMessage(CannotExpose, "margin is not among the columns that the code exposes"):
            self.expose("orders.Order", fields=["number", "margin"], filters=[])
        self.expose("orders.Order", fields=["number", "total"], filters=["number"], personal=["total"])
        row = self.ask("find_orders", where={"number": {"is": 103}})["rows"][0]
        self.assertEqual(set(row) - {"id", "label", "link"}, {"number", "total"})
        with self.assertRaises(InvalidArguments):
            self.ask("find_orders", where={"status": {"is": "open"}})
        self.assertEqual([column.name for column in plan_for(Order).personal], ["total"])

    def test_a_model_that_is_switched_off_keeps_its_rules_for_rows_that_refer_to_it(self):
        self.expose("orders.Customer", is_offered=False, fields=[], filters=[])
        self.assertNotIn("find_customers", catalogue.registry())
        self.assertIn("switched it off", plan_for(Customer).problem)
        hidden = Customer.objects.get(name="Hidden", company=self.acme.company)
        Order.objects.filter(number=101, company=self.acme.company).update(customer=hidden)
        row = self.ask("find_orders", where={"number": {"is": 101}})["rows"][0]
        self.assertIsNone(row["customer__name"])

    def test_what_is_forgotten_is_as_the_code_says(self):
        self.expose("orders.Order", fields=["number"], filters=["number"])
        self.expose()
        forget_model(actor=self.staff, label="orders.Order")
        forget_model(actor=self.staff, label="orders.Supplier")
        refresh()
        self.assertIn("status", [column.name for column in plan_for(Order).columns])
        self.assertNotIn("find_suppliers", catalogue.registry())

    def test_tools_and_columns_are_worded(self):
        self.expose(
            description="Firms that we buy from",
            wording={"city": "Where they deliver from", "tools.find": "Look suppliers up."},
        )
        tool = catalogue.registry().get("find_suppliers")
        self.assertTrue(tool.description.startswith("Look suppliers up. Firms that we buy from."))
        described = tool.parameters["properties"]["where"]["properties"]["city"]["description"]
        self.assertEqual(described, "Where they deliver from")

    def test_a_process_that_did_not_store_it_offers_it_when_it_looks(self):
        ExposedModel.objects.create(row_model="orders.Supplier", is_offered=True, fields=["name"], filters=["name"])
        self.assertNotIn("find_suppliers", catalogue.registry())
        refresh()
        self.assertIn("find_suppliers", catalogue.registry())
        ExposedModel.objects.all().delete()
        refresh()
        self.assertNotIn("find_suppliers", catalogue.registry())

    def test_columns_and_models_that_are_gone_are_left_out(self):
        ExposedModel.objects.create(row_model="orders.Gone", is_offered=True, fields=["name"])
        ExposedModel.objects.create(row_model="orders.Supplier", is_offered=True, fields=["name", "gone"])
        refresh()
        self.assertEqual([column.name for column in plan_for(Supplier).columns], ["name"])


class RefusedTests(RoomTests):
    def refused_because(self, words, label="orders.Supplier", **ticks):
        with self.assertRaisesMessage(CannotExpose, words):
            self.expose(label, **ticks)
        self.assertFalse(ExposedModel.objects.exists())

    def test_a_column_that_looks_secret(self):
        self.refused_because("orders.Supplier.api_token: it looks secret", fields=["name", "api_token"])
        self.refused_because("orders.Supplier.api_token: it looks secret", filters=["api_token"])

    def test_a_model_without_a_path_to_a_tenant(self):
        self.refused_because("its rows lead to no tenant", "orders.Stray", fields=["text"], filters=[])

    def test_what_does_not_exist(self):
        self.refused_because("'gone' is no column", fields=["gone"])
        self.refused_because("There is no model orders.Gone", "orders.Gone")

    def test_texts_that_are_too_long_and_words_of_what_is_not_ticked(self):
        self.refused_because("at most 500 characters", description="x" * 501)
        self.refused_because("phone is worded, and not ticked", wording={"phone": "x"})


class PageTests(RoomTests):
    def test_an_operator_ticks_a_model(self):
        self.client.force_login(self.staff)
        self.assertContains(self.client.get(reverse(LIST)), "orders.Supplier")
        address = reverse("admin:data_exposed_model", args=["orders.Supplier"])
        page = self.client.get(address)
        self.assertContains(page, "it looks secret")
        posted = {"decision": "save", "is_offered": "on", "shown": ["name", "city"], "filter": ["city"]}
        with self.captureOnCommitCallbacks(execute=True):
            saved = self.client.post(address, posted, follow=True)
        self.assertRedirects(saved, reverse(LIST))
        self.assertContains(saved, "“orders.Supplier” is offered. Its tools are off until they are switched on")
        self.assertContains(saved, f'href="{reverse("admin:switchboard")}"')
        with self.captureOnCommitCallbacks(execute=True):
            again = self.client.post(address, posted, follow=True)
        self.assertContains(again, "“orders.Supplier” is offered.")
        self.assertNotContains(again, "Its tools are off")
        self.assertIn("find_suppliers", catalogue.registry())
        entry = AuditEntry.objects.filter(action="data.expose").last()
        self.assertEqual((entry.target, entry.details["fields"]), ("orders.Supplier", ["name", "city"]))
        with self.captureOnCommitCallbacks(execute=True):
            self.client.post(address, {"decision": "forget"})
        self.assertNotIn("find_suppliers", catalogue.registry())

    def test_what_cannot_be_stored_stays_on_the_page_with_the_reason(self):
        self.client.force_login(self.staff)
        address = reverse("admin:data_exposed_model", args=["orders.Supplier"])
        page = self.client.post(address, {"is_offered": "on", "shown": ["api_token"], "description": "Firms"})
        self.assertContains(page, "it looks secret")
        self.assertContains(page, 'value="Firms"')

    def test_nobody_else_opens_or_changes_it(self):
        for person in (self.ada, self.both):
            person.is_staff = True
            person.save()
            self.client.force_login(person)
            for address in (reverse(LIST), reverse("admin:data_exposed_model", args=["orders.Supplier"])):
                self.assertEqual(self.client.get(address).status_code, 403)
                self.assertEqual(self.client.post(address, {"is_offered": "on", "shown": "name"}).status_code, 403)
        self.assertFalse(ExposedModel.objects.exists())

    def test_a_model_without_ticks_shows_the_proposal(self):
        ticked = {one.column.name: (one.is_shown, one.is_personal) for one in choices_of("orders.Supplier").columns}
        self.assertEqual(ticked["name"], (True, False))
        self.assertEqual(ticked["phone"], (True, True))
        self.assertEqual(ticked["api_token"][0], False)
