#!/bin/sh
# The step runner of Perdure, as one file. What follows these lines is an archive. It is unpacked once, into a cache of the
# user, whole or not at all; from then on this file only starts what is there, which stays there: runs need it for as long
# as they go on.
hash=@HASH@
place=

is_good() { # whether it is unpacked there, by this user, and may be run
    [ -x "$1/start" ] && [ -O "$1/start" ]
}

unpack() { # into a folder of this user that nobody else may write to
    mkdir -p -m 700 "$1" 2>/dev/null
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ] || return 1
    find "$1" -maxdepth 1 -name '.draft-*' -mmin +60 -exec rm -rf {} + 2>/dev/null
    draft=$1/.draft-$hash-$$
    mkdir -m 700 "$draft" || return 1
    trap 'rm -rf "$draft"' EXIT
    trap 'exit 143' HUP INT TERM
    if ! tail -c +@OFFSET@ "$0" | tar -xzf - -C "$draft"; then
        echo "Error: the step runner cannot be unpacked into $1; PERDURE_STEP_RUNNER_CACHE names another folder" >&2
        exit 1
    fi
    mv -T "$draft" "$1/$hash" 2>/dev/null || [ -e "$1/$hash" ] || mv "$draft" "$1/$hash"
    rm -rf "$draft" # somebody else was first
    trap - EXIT HUP INT TERM
    is_good "$1/$hash"
}

try() {
    [ -z "$place" ] && case $1 in /*) true ;; *) false ;; esac || return
    if is_good "$1/$hash" || unpack "$1"; then
        place=$1/$hash
    fi
}

umask_before=$(umask)
umask 077
if [ -n "$PERDURE_STEP_RUNNER_CACHE" ]; then
    try "$PERDURE_STEP_RUNNER_CACHE"
else
    try "${XDG_CACHE_HOME:+$XDG_CACHE_HOME/perdure/step-runner}"
    try "${HOME:+$HOME/.cache/perdure/step-runner}"
    [ -n "$place" ] || try "${TMPDIR:-/tmp}/perdure-step-runner-$(id -u)"
fi
umask "$umask_before"
if [ -z "$place" ]; then
    echo "Error: there is no folder in which this user may unpack and run the step runner;" \
        "PERDURE_STEP_RUNNER_CACHE names one" >&2
    exit 1
fi
exec "$place/start" "$@"
exit 1
