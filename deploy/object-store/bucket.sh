#!/bin/sh
# Runs at every start of the set, as MinIO's administrator: makes the bucket, and a user who reaches it and nothing else.
# What is there already stays; policy and password become those of now. Only commands that the image of `mc` has.
set -eu

here=${0%/*}

if [ "$OBJECT_STORE_KEY" = "$OBJECT_STORE_ADMIN_KEY" ]; then
  echo "OBJECT_STORE_KEY must differ from OBJECT_STORE_ADMIN_KEY: it is the name of a user who is no administrator." >&2
  exit 1
fi

mc mb --ignore-existing store/perdure
mc admin policy create store perdure "$here/policy.json"
# By its input: the arguments of a process can be read by others.
printf '%s\n%s\n' "$OBJECT_STORE_KEY" "$OBJECT_STORE_SECRET" | mc admin user add store

# Some versions of `mc` call it an error to attach what is attached.
case $(mc --json admin user info store "$OBJECT_STORE_KEY") in
  *'"policyName":"perdure"'* | *'"policyName": "perdure"'*) ;;
  *) mc admin policy attach store perdure --user "$OBJECT_STORE_KEY" ;;
esac
