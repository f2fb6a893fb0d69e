#!/bin/sh
# Runs at every start of the set, as MinIO's administrator: makes the bucket, and a user who reaches it and nothing else.
# What is there already stays; policy and password become those of now. Only commands that the image of `mc` has.
set -eu

here=${0%/*}
bucket=${OBJECT_STORE_BUCKET:-perdure}
policy=$here/policy.json

if [ "$OBJECT_STORE_KEY" = "$OBJECT_STORE_ADMIN_KEY" ]; then
  echo "OBJECT_STORE_KEY must differ from OBJECT_STORE_ADMIN_KEY: it is the name of a user who is no administrator." >&2
  exit 1
fi

if [ "$bucket" != perdure ]; then
  # Of several pods each has a bucket of its own; the policy is the same in everything but its name.
  policy=/tmp/policy-$bucket.json
  while IFS= read -r line; do
    case $line in
      *arn:aws:s3:::perdure*)
        line="${line%%arn:aws:s3:::perdure*}arn:aws:s3:::$bucket${line#*arn:aws:s3:::perdure}" ;;
    esac
    printf '%s\n' "$line"
  done <"$here/policy.json" >"$policy"
fi

mc mb --ignore-existing "store/$bucket"
mc admin policy create store "$bucket" "$policy"
# By its input: the arguments of a process can be read by others.
printf '%s\n%s\n' "$OBJECT_STORE_KEY" "$OBJECT_STORE_SECRET" | mc admin user add store

# Some versions of `mc` call it an error to attach what is attached.
case $(mc --json admin user info store "$OBJECT_STORE_KEY") in
  *"\"policyName\":\"$bucket\""* | *"\"policyName\": \"$bucket\""*) ;;
  *) mc admin policy attach store "$bucket" --user "$OBJECT_STORE_KEY" ;;
esac
