#!/usr/bin/env bash
# doublestar v4.10.4, by which GitLab Runner finds artifacts: `Glob` does not find what `Match` says the pattern fits.
#
# One would expect `Glob` to be a walk with `Match`. It drops an empty alternative at the end of a pattern, and of a name
# without wildcards it takes a backslash from the signs of patterns alone. So `x{a,}` never finds a file `x`.
set -euo pipefail
folder=$(mktemp -d); trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"; export GOPATH=$folder/go GOFLAGS=-mod=mod
cat >main.go <<'G'
package main

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/bmatcuk/doublestar/v4"
)

func main() {
	tree := fstest.MapFS{"x": {}, "xa": {}, "a,b": {}}
	wrong := 0
	for _, one := range []struct {
		pattern, name string
		match, found  bool
	}{
		{"x{a,}", "x", true, false},
		{"x{a,}", "xa", true, true},
		{"x{,a}", "x", true, true},
		{`a\,b`, "a,b", true, false},
	} {
		match := doublestar.MatchUnvalidated(one.pattern, one.name)
		names, _ := doublestar.Glob(tree, one.pattern)
		found := false
		for _, name := range names {
			found = found || name == one.name
		}
		fmt.Printf("%-6s %-4s Match %-5v Glob %v\n", one.pattern, one.name, match, found)
		if match != one.match || found != one.found {
			wrong++
		}
	}
	os.Exit(wrong)
}
G
go mod init finding 2>/dev/null
go get github.com/bmatcuk/doublestar/v4@v4.10.4 2>/dev/null
go run .
echo "as seen"
