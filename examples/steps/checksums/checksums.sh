#!/bin/sh
# checksums.sh VERIFY SUMS FILES OUTPUT: write SHA-256 sums of files (a JSON list), or verify those that are written.
set -eu

verify=$1 sums=$2 files=$3 output=$4
if [ "$verify" = true ]; then
    sha256sum --check --strict "$sums"
else
    printf '%s' "$files" | python3 -c 'import json, sys; sys.stdout.write("".join(f"{name}\0" for name in json.load(sys.stdin)))' |
        xargs -0 -r sha256sum -- >"$sums"
fi
printf '{"name": "count", "value": %d}\n' "$(wc -l <"$sums")" >>"$output"
