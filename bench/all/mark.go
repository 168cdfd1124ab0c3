package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A mark is the last line of what a benchmark wrote. It says which files were measured, which text and pictures came of it, and on whose processor.
var marks = regexp.MustCompile(`<!-- measured: files ([0-9a-f]{16}), result ([0-9a-f]{16}), processor (\S+) -->\n`)

// cut returns the part of the document that is the benchmark's, and what is before and after it.
func (b *bench) cut(text string) (before, part, after string, err error) {
	if b.section == "" {
		return "", text, "", nil
	}
	begin, end := "<!-- "+b.section+": begin -->\n", "<!-- "+b.section+": end -->"
	before, rest, ok := strings.Cut(text, begin)
	part, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("%s lacks the markers of %s", b.document, b.section)
	}
	return before + begin, part, end + after, nil
}

// mark writes a part of the document, with a mark in place of one that it has.
func (b *bench) mark(root, part, files, vendor string) error {
	part = marks.ReplaceAllString(part, "")
	of, err := b.result(root, part)
	if err != nil {
		return err
	}
	name := filepath.Join(root, b.document)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, _, after, err := b.cut(string(text))
	if err != nil {
		return err
	}
	part += fmt.Sprintf("<!-- measured: files %s, result %s, processor %s -->\n", files, of, vendor)
	return os.WriteFile(name, []byte(before+part+after), 0o644)
}

// result is the sum of a part of the document without its mark, and of the pictures.
func (b *bench) result(root, part string) (string, error) {
	h := sha256.New()
	h.Write([]byte(part))
	for _, name := range b.pictures {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// state says whether the document is of the files with this sum. A document that claims to be what a benchmark wrote, and is not, is an error.
func (b *bench) state(root, files string) (string, bool, error) {
	text, err := os.ReadFile(filepath.Join(root, b.document))
	if err != nil {
		return "", false, err
	}
	_, part, _, err := b.cut(string(text))
	if err != nil {
		return "", false, err
	}
	m := marks.FindStringSubmatch(part)
	if m == nil {
		return "without a mark", false, nil
	}
	of, err := b.result(root, marks.ReplaceAllString(part, ""))
	switch {
	case err != nil:
		return "", false, err
	case of != m[2]:
		return "", false, fmt.Errorf("%s: what the benchmark %s wrote has been changed since", b.document, b.name)
	case files != m[1]:
		return "older than the code (" + m[3] + ")", false, nil
	}
	return "of this code (" + m[3] + ")", true, nil
}
