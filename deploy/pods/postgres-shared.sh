#!/bin/bash
# Runs once, when the server of what the pods share makes its first files. Temporal and the directory each have a role with
# databases of their own; no pod has one here.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set directory="$DIRECTORY_POSTGRES_PASSWORD" --set temporal="$TEMPORAL_POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE directory LOGIN PASSWORD :'directory';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE directory OWNER directory;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE directory, temporal, temporal_visibility, postgres, template1 FROM PUBLIC;
SQL
