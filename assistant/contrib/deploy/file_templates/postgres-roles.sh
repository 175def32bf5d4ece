#!/bin/sh
# PostgreSQL of compose.yaml runs this once, as its superuser, when its volume is new. The application gets its own role,
# because row-level security does not apply to superusers. The superuser has no password, for `docker compose exec`.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username=postgres --dbname=postgres <<'SQL'
CREATE ROLE @role@ LOGIN PASSWORD :'password';
CREATE DATABASE @role@ OWNER @role@;
ALTER ROLE postgres PASSWORD NULL;
SQL
