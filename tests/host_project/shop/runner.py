"""Runs the shop's tests, and closes what chats leave open of the database before it is deleted."""

from django.db import connection
from django.test.runner import DiscoverRunner


class ClosingRunner(DiscoverRunner):
    """Database threads of chats keep connections of their own, with which PostgreSQL deletes no database."""

    def teardown_databases(self, old_config, **kwargs):
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        super().teardown_databases(old_config, **kwargs)
