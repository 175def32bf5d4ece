"""The full-text index over passages: an FTS5 table kept in step by triggers, or a generated tsvector column with GIN.

On SQLite a later migration that rebuilds `tools_passage` drops the triggers with the old table: it must run
`create_index` again.
"""

from django.db import migrations

SQLITE = [
    """CREATE VIRTUAL TABLE tools_passage_fts USING fts5(
           title, heading, text, tenant_id,
           content='tools_passage', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
       )""",
    """CREATE TRIGGER tools_passage_fts_insert AFTER INSERT ON tools_passage BEGIN
           INSERT INTO tools_passage_fts(rowid, title, heading, text, tenant_id)
           VALUES (new.id, new.title, new.heading, new.text, new.tenant_id);
       END""",
    """CREATE TRIGGER tools_passage_fts_delete AFTER DELETE ON tools_passage BEGIN
           INSERT INTO tools_passage_fts(tools_passage_fts, rowid, title, heading, text, tenant_id)
           VALUES ('delete', old.id, old.title, old.heading, old.text, old.tenant_id);
       END""",
    """CREATE TRIGGER tools_passage_fts_update AFTER UPDATE ON tools_passage BEGIN
           INSERT INTO tools_passage_fts(tools_passage_fts, rowid, title, heading, text, tenant_id)
           VALUES ('delete', old.id, old.title, old.heading, old.text, old.tenant_id);
           INSERT INTO tools_passage_fts(rowid, title, heading, text, tenant_id)
           VALUES (new.id, new.title, new.heading, new.text, new.tenant_id);
       END""",
    "INSERT INTO tools_passage_fts(tools_passage_fts) VALUES ('rebuild')",
]
SQLITE_UNDO = [
    "DROP TRIGGER tools_passage_fts_insert",
    "DROP TRIGGER tools_passage_fts_delete",
    "DROP TRIGGER tools_passage_fts_update",
    "DROP TABLE tools_passage_fts",
]

# PostgreSQL's parser makes one token of "AB-100" or "a.b"; without punctuation it cuts words where FTS5 cuts them.
PUNCTUATION = "!\"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~"
WORDS = f"translate({{column}}, '{PUNCTUATION}', repeat(' ', {len(PUNCTUATION) - 1}))"
POSTGRESQL = [
    "ALTER TABLE tools_passage ADD COLUMN search tsvector GENERATED ALWAYS AS ("
    + " || ".join(
        f"setweight(to_tsvector('english', {WORDS.replace('{column}', column)}), '{weight}')"
        for column, weight in (("title", "A"), ("heading", "B"), ("text", "C"))
    )
    + ") STORED",
    "CREATE INDEX tools_passage_search ON tools_passage USING gin (search)",
]
POSTGRESQL_UNDO = ["ALTER TABLE tools_passage DROP COLUMN search"]


def create_index(apps, schema_editor):
    _run(schema_editor, sqlite=SQLITE, postgresql=POSTGRESQL)


def drop_index(apps, schema_editor):
    _run(schema_editor, sqlite=SQLITE_UNDO, postgresql=POSTGRESQL_UNDO)


def _run(schema_editor, **statements):
    with schema_editor.connection.cursor() as cursor:
        for statement in statements[schema_editor.connection.vendor]:
            cursor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("tools", "0001_initial")]
    operations = [migrations.RunPython(create_index, drop_index)]
