#!/bin/sh
# The directory with the tokens of `.env`, which a router and whoever makes a pod have to know before its first start.
set -eu

umask 077
# By a command of the shell itself: the arguments of a process can be read by others.
printf '{"url": "%s", "admin_token": "%s", "read_token": "%s"}\n' \
  "$PERDURE_DIRECTORY_URL" "$DIRECTORY_ADMIN_TOKEN" "$DIRECTORY_READ_TOKEN" >"$PERDURE_HOME/directory-credentials.json"
unset DIRECTORY_ADMIN_TOKEN DIRECTORY_READ_TOKEN
exec python -m pods.directory
