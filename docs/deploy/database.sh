#!/bin/sh
# Run by the Postgres image when it creates the database: the role that the workbench uses.
# It may create schemas and owns those; it is no superuser and creates no roles or databases.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$WORKBENCH_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set=database="$POSTGRES_DB" <<'SQL'
CREATE ROLE workbench LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT, CREATE, TEMPORARY ON DATABASE :"database" TO workbench;
SQL
