#!/bin/bash
# Runs once, when the database server of a pod makes its first files: the pod's role, with a database of its own.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set own="$OWN_POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE perdure LOGIN PASSWORD :'own';
CREATE DATABASE perdure OWNER perdure;
REVOKE ALL ON DATABASE perdure, postgres, template1 FROM PUBLIC;
SQL
