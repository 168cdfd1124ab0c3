// Command diagram writes the documents that are made from the transition table of package protocol:
// the table in Markdown and in the documentation of package coherence, and the state diagram of one host and
// one device as SVG.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the `folder` of the module")
	flag.Parse()
	for _, d := range documents {
		if err := d.write(*root); err != nil {
			fmt.Fprintln(os.Stderr, "diagram:", err)
			os.Exit(1)
		}
	}
}

// document is a file of the module that is made from the table, as a whole or in part.
type document struct {
	path string
	text func(old string) (string, error)
}

var documents = []document{
	{"docs/coherence.md", whole(markdown)},
	{"docs/coherence.svg", whole(picture)},
	{"coherence/doc.go", withTable},
}

func whole(text func() string) func(string) (string, error) {
	return func(string) (string, error) { return text(), nil }
}

func (d document) write(root string) error {
	path := filepath.Join(root, filepath.FromSlash(d.path))
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	text, err := d.text(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
