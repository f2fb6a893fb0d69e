#!/bin/bash
# Runs once, when the database server makes its first files. Perdure and Temporal each have a role with databases of their
# own: neither is the server's administrator, nor reaches what is the other's.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set perdure="$OWN_POSTGRES_PASSWORD" --set temporal="$TEMPORAL_POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE perdure LOGIN PASSWORD :'perdure';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE perdure OWNER perdure;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE perdure, temporal, temporal_visibility, postgres, template1 FROM PUBLIC;
SQL
