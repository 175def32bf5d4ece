"""Articles of the shop as knowledge: found with the row's permissions, at the time of the question."""

import json

from django.test import TestCase

from assistant.contrib.data.models import RowDocument
from assistant.contrib.data.services.row_changes import plan_sources
from assistant.contrib.data.services.row_documents import remove_batch, sync_batch, sync_key
from assistant.contrib.data.services.row_signals import ROW_JOB
from assistant.library.knowledge import read_document, search_docs
from assistant.models import Document, Job, Tenant
from assistant.services.knowledge.overview import describe_documents
from assistant.services.knowledge.reach import reach_of
from assistant.services.tenancy.row_scope import all_tenants
from assistant.testing import ToolTester
from assistant.toolkit import ToolError
from orders.models import Article
from staged import context_for, stage

LABEL = "orders.Article"


class KnowledgeTests(TestCase):
    """Both companies have a handbook with the same words; `found` is what somebody's search gives."""

    @classmethod
    def setUpTestData(cls):
        cls.staged = stage()
        cls.ada, cls.both, _ = cls.staged["acme"].people
        cls.articles = {
            slug: Article.objects.create(
                company=one.company, title=f"Parking at {slug}", body=f"<p>Cars of {slug} stand in the yard.</p>"
            )
            for slug, one in cls.staged.items()
        }
        cls.tenants = {tenant.slug: tenant for tenant in Tenant.objects.all()}

    def setUp(self):
        scope = all_tenants()
        scope.__enter__()
        self.addCleanup(scope.__exit__, None, None, None)
        self.work()

    def work(self):
        """Do what signals have ordered; return the keys of these jobs."""
        waiting = Job.objects.filter(name=ROW_JOB, state=Job.State.WAITING)
        done = sorted(waiting.values_list("tenant_id", "key"))
        waiting.delete()
        for tenant_id, key in done:
            label, _, row = key.partition(" ")
            sync_key(tenant_id=tenant_id, label=label, key=row)
        return [key for _, key in done]

    def ask(self, tool, person, company, **arguments):
        tester = ToolTester(tool, tenant=self.staged[company].company, user=person)
        return json.loads(tester.run(**arguments).content)

    def found(self, person, company, query="cars in the yard"):
        return sorted(one["text"] for one in self.ask(search_docs, person, company, queries=[query])["results"])

    def test_each_company_finds_its_own(self):
        self.assertEqual(self.found(self.ada, "acme"), ["Cars of acme stand in the yard."])
        self.assertEqual(self.found(self.both, "globex"), ["Cars of globex stand in the yard."])
        self.assertEqual(Document.objects.count(), 2)

    def test_an_article_for_one_reader_is_there_for_them_alone(self):
        article = self.articles["acme"]
        article.reader = self.both
        article.save()
        self.assertEqual(self.work(), [f"{LABEL} {article.pk}"])
        document = RowDocument.objects.get(row_key=str(article.pk)).document
        self.assertEqual(len(self.found(self.both, "acme")), 1)
        self.assertEqual(self.found(self.ada, "acme"), [])
        with self.assertRaises(ToolError) as hidden:
            self.ask(read_document, self.ada, "acme", id=document.pk)
        with self.assertRaises(ToolError) as absent:
            self.ask(read_document, self.ada, "acme", id=10**6)
        told = (str(hidden.exception), str(absent.exception))
        self.assertEqual(told[0].replace(f"[{document.pk}.", "["), told[1].replace("[1000000.", "["))
        Document.objects.update(is_trusted=True)
        self.assertIn("Parking at acme", describe_documents(reach_of(context_for("acme", self.both))))
        told = describe_documents(reach_of(context_for("acme", self.ada)))
        self.assertEqual(told, "There are none yet.")

    def test_who_may_see_it_is_decided_when_the_question_is_asked(self):
        # No signal tells of this, and no job has run.
        Article.objects.filter(pk=self.articles["acme"].pk).update(reader=self.both)
        self.assertEqual(self.found(self.ada, "acme"), [])
        Article.objects.filter(pk=self.articles["acme"].pk).update(reader=None)
        self.assertEqual(len(self.found(self.ada, "acme")), 1)
        Article.objects.filter(pk=self.articles["acme"].pk).update(is_published=False)
        self.assertEqual(self.found(self.ada, "acme"), [])

    def test_an_article_that_moves_to_another_company_goes_with_it(self):
        article = self.articles["acme"]
        article.company = self.staged["globex"].company
        article.save()
        self.assertEqual(self.found(self.ada, "acme"), [])
        self.work()
        entry = RowDocument.objects.get(row_key=str(article.pk))
        self.assertEqual(entry.tenant, self.tenants["globex"])
        self.assertEqual(len(self.found(self.both, "globex")), 2)

    def test_a_changed_text_takes_the_place_of_the_old_one(self):
        article = self.articles["acme"]
        before = RowDocument.objects.get(row_key=str(article.pk)).document_id
        article.body = "<h1>Parking</h1><p>Cars stand in the street.</p>"
        article.save()
        self.work()
        self.assertEqual(RowDocument.objects.get(row_key=str(article.pk)).document_id, before)
        self.assertIn("street", self.found(self.ada, "acme", "cars stand")[0])

    def test_a_deleted_and_an_unpublished_article_vanish(self):
        self.articles["acme"].delete()
        self.articles["globex"].is_published = False
        self.articles["globex"].save()
        self.assertEqual((self.found(self.ada, "acme"), self.found(self.both, "globex")), ([], []))
        self.work()
        self.assertFalse(Document.objects.exists())

    def test_what_no_signal_tells_the_look_at_all_rows_finds(self):
        acme = self.tenants["acme"].pk
        Article.objects.filter(pk=self.articles["acme"].pk).delete()
        Job.objects.all().delete()
        made = Article.objects.bulk_create(
            [Article(company=self.staged["acme"].company, title="Lunch", body=f"Soup {number}.") for number in range(3)]
        )
        self.assertIsNone(sync_batch(tenant_id=acme, label=LABEL, after=None))
        self.assertIsNone(remove_batch(tenant_id=acme, label=LABEL, after=0))
        titles = sorted(Document.objects.filter(tenant_id=acme).values_list("title", flat=True))
        # Documents have titles of their own; rows may share theirs.
        self.assertEqual(len(titles), 3)
        self.assertIn("Lunch", titles)
        self.assertTrue(all(title.startswith("Lunch") for title in titles))
        self.assertEqual(RowDocument.objects.filter(tenant_id=acme).count(), len(made))

    def test_each_company_has_a_job_that_looks_at_all_rows(self):
        Job.objects.all().delete()
        self.assertEqual(plan_sources(), 2)
        self.assertEqual(plan_sources(), 0)
        self.assertEqual(set(Job.objects.values_list("key", flat=True)), {LABEL})

    def test_an_article_without_text_is_no_document_any_more(self):
        article = self.articles["acme"]
        article.body = " "
        article.save()
        with self.assertLogs("assistant.contrib.data.services.row_documents", "WARNING") as told:
            self.work()
        self.assertIn("has no text", told.output[0])
        self.assertNotIn("Cars", told.output[0])
        self.assertEqual(self.found(self.ada, "acme"), [])
