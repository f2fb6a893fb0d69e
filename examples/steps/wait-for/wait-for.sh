#!/bin/sh
# wait-for.sh HOST PORT SECONDS OUTPUT: wait until a port takes connections.
set -eu

host=$1 port=$2 seconds=$3 output=$4
waited=0
until bash -c "exec 3<>/dev/tcp/$host/$port" 2>/dev/null; do
    if [ "$waited" -ge "$seconds" ]; then
        echo "$host:$port takes no connections after $waited s" >&2
        exit 1
    fi
    sleep 1
    waited=$((waited + 1))
done
echo "$host:$port takes connections after $waited s"
printf '{"name": "waited", "value": %d}\n' "$waited" >>"$output"
