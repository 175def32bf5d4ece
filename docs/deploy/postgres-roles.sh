#!/bin/sh
# compose.yaml's PostgreSQL runs this once, as its superuser, when its volume is new. The application gets a role of its
# own, since row-level security holds no superuser; the superuser is left without a password, for `docker compose exec`.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username=postgres --dbname=postgres <<'SQL'
CREATE ROLE assistant LOGIN PASSWORD :'password';
CREATE DATABASE assistant OWNER assistant;
ALTER ROLE postgres PASSWORD NULL;
SQL
