// Answers which files of trees the library finds by patterns: one JSON document a line in, one out. A pattern that is
// none finds and excludes nothing.
package main

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"

	"github.com/bmatcuk/doublestar/v4"
)

type question struct {
	Root    string `json:"root"`
	Pattern string `json:"pattern"`
}

// found is what a pattern matches and all below it, folders with a slash at their end.
func found(root, pattern string) ([]string, bool) {
	matches, err := doublestar.Glob(os.DirFS(root), path.Clean(pattern))
	if err != nil {
		return nil, false
	}
	names := map[string]bool{}
	for _, match := range matches {
		top := filepath.Join(root, match)
		_ = filepath.WalkDir(top, func(place string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, place)
			if entry.IsDir() {
				name += "/"
			}
			if name != "./" {
				names[name] = true
			}
			return nil
		})
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return sorted, true
}

// fits are those of the names that the pattern matches as a whole.
func fits(pattern string, names []string) []string {
	kept := []string{}
	for _, name := range names {
		if ok, err := doublestar.Match(path.Clean(pattern), path.Clean(name)); err == nil && ok {
			kept = append(kept, name)
		}
	}
	return kept
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		names, valid := found(asked.Root, asked.Pattern)
		excluded := []string{}
		if everything, _ := found(asked.Root, "."); valid {
			excluded = fits(asked.Pattern, everything)
		}
		_ = answers.Encode(map[string]any{"found": names, "excluded": excluded})
	}
}
