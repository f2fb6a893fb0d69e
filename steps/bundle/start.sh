#!/bin/sh
# Starts the program beside it, whose first lines need a library that is there, too. What was set before goes along: the
# program sets it again for the commands that it runs.
folder=${0%/*}
unset PERDURE_BUNDLE_LIBRARIES
if [ -n "${LD_LIBRARY_PATH+set}" ]; then
    export PERDURE_BUNDLE_LIBRARIES="$LD_LIBRARY_PATH"
fi
export LD_LIBRARY_PATH="$folder/_internal"
exec "$folder/step-runner" "$@"
