#!/bin/sh
# As PostgreSQL's own image: the first start makes the files and runs the scripts, before anybody can connect.
set -eu
export PGDATA=/var/lib/postgresql/data POSTGRES_USER=postgres POSTGRES_DB=postgres PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
if [ "$(id -u)" = 0 ]; then
  chown postgres "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  umask 077
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb --auth-local=trust --auth-host=scram-sha-256 --pwfile=/tmp/password
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait --options="-c listen_addresses=''" start
  for script in /docker-entrypoint-initdb.d/*.sh; do bash "$script"; done
  pg_ctl --wait --mode=fast stop
fi
exec "$@" -c listen_addresses='*'
