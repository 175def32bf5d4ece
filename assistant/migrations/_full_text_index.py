"""The full-text index over passages: an FTS5 table kept in step by triggers, or a generated tsvector column with GIN.

On SQLite a later migration that rebuilds `assistant_passage` drops the triggers together with the old table, so it must
run `create_index` again.
"""

SQLITE = [
    # Only which passages have a word is asked, not where: `detail=column` keeps no places.
    """CREATE VIRTUAL TABLE assistant_passage_fts USING fts5(
           stems, tenant_id, content='assistant_passage', content_rowid='id', detail='column',
           tokenize='unicode61 remove_diacritics 0'
       )""",
    """CREATE TRIGGER assistant_passage_fts_insert AFTER INSERT ON assistant_passage BEGIN
           INSERT INTO assistant_passage_fts(rowid, stems, tenant_id) VALUES (new.id, new.stems, new.tenant_id);
       END""",
    """CREATE TRIGGER assistant_passage_fts_delete AFTER DELETE ON assistant_passage BEGIN
           INSERT INTO assistant_passage_fts(assistant_passage_fts, rowid, stems, tenant_id)
           VALUES ('delete', old.id, old.stems, old.tenant_id);
       END""",
    """CREATE TRIGGER assistant_passage_fts_update AFTER UPDATE ON assistant_passage BEGIN
           INSERT INTO assistant_passage_fts(assistant_passage_fts, rowid, stems, tenant_id)
           VALUES ('delete', old.id, old.stems, old.tenant_id);
           INSERT INTO assistant_passage_fts(rowid, stems, tenant_id) VALUES (new.id, new.stems, new.tenant_id);
       END""",
    "INSERT INTO assistant_passage_fts(assistant_passage_fts) VALUES ('rebuild')",
]
SQLITE_UNDO = [
    "DROP TRIGGER assistant_passage_fts_insert",
    "DROP TRIGGER assistant_passage_fts_delete",
    "DROP TRIGGER assistant_passage_fts_update",
    "DROP TABLE assistant_passage_fts",
]

# The stems are lexemes as they are: PostgreSQL's own parser would make one token of "a.b" and know one language.
POSTGRESQL = [
    """ALTER TABLE assistant_passage ADD COLUMN search tsvector GENERATED ALWAYS AS (
           array_to_tsvector(array_remove(string_to_array(translate(stems, E'\\n', ' '), ' '), ''))
       ) STORED""",
    "CREATE INDEX assistant_passage_search ON assistant_passage USING gin (search)",
]
POSTGRESQL_UNDO = ["ALTER TABLE assistant_passage DROP COLUMN search"]


def create_index(apps, schema_editor):
    _run(schema_editor, sqlite=SQLITE, postgresql=POSTGRESQL)


def drop_index(apps, schema_editor):
    _run(schema_editor, sqlite=SQLITE_UNDO, postgresql=POSTGRESQL_UNDO)


def _run(schema_editor, **statements):
    with schema_editor.connection.cursor() as cursor:
        for statement in statements[schema_editor.connection.vendor]:
            cursor.execute(statement)
