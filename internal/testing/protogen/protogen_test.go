package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var generate = regexp.MustCompile(`(?m)^//go:generate go run \S*/testing/protogen(?: -interface (\S+))? (\S+)$`)

// The files that go generate writes are those in the repository.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	lists := 0
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			if name := d.Name(); err == nil && d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range generate.FindAllStringSubmatch(string(text), -1) {
			lists++
			shared, dir := m[1], filepath.Dir(path)
			if shared != "" {
				shared = filepath.Join(dir, shared)
			}
			err := run(filepath.Join(dir, m[2]), shared, func(name string, data []byte, _ os.FileMode) error {
				have, err := os.ReadFile(name)
				if err == nil && !bytes.Equal(have, data) {
					t.Errorf("%s is not current: run go generate in its folder", name)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil || lists < 3 {
		t.Errorf("%d lists, %v", lists, err)
	}
}

func TestWhatIsWrongInAListIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense":                                  "cannot be understood",
		"Init: int init":                            "no prototype",
		"Init: int init(int n); optimal":            "no such word",
		"Init: int init(handle *h, strange x)":      "the type \"strange\" of x",
		"table t fill\n\nInit: int init(out x y z)": "the type \"x y\" of z",
		"struct point Point":                        "no structure",
		"struct point Point: int x, strange y":      "the type \"strange\" of y",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestPrototypesAreRead(t *testing.T) {
	l, err := parse("type h uintptr\nbound\n// Get gets.\nGet: int cGet_v2(out size_t *_, out int *n, const void *at, unsigned int flags = 3, unsigned int grid[3]); " +
		"optional; since 2.1; older cGet")
	if err != nil {
		t.Fatal(err)
	}
	c := l.calls[0]
	if !c.bound || !c.optional || c.since != "2.1" || c.older != "cGet" || c.c != "cGet_v2" || c.doc[0] != "// Get gets." {
		t.Errorf("%+v", c)
	}
	if got, want := c.boundSignature(l), "(ctx cudahip.Context, at uintptr, grid [3]uint32) (n int32, code cudahip.Code)"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestStructuresAreWritten(t *testing.T) {
	l, err := parse("struct head Head: int kind\nstruct point Point: head, unsigned char name[8], ptr void *next, Head more[2]")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{}
	l.plainCalls(w)
	want := "// point is Point.\ntype point struct {\nhead\nname [8]uint8\nnext unsafe.Pointer\nmore [2]head\n}\n"
	if !strings.Contains(w.String(), want) {
		t.Errorf("%s, want %s", w, want)
	}
}
