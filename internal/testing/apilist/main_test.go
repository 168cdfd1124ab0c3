package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestListingIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	want, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		t.Fatal("no packages found")
	}
	files, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[filepath.Base(f)]; !ok {
			t.Errorf("api/%s lists packages that are not there", filepath.Base(f))
		}
	}
	for name, text := range want {
		listed, err := os.ReadFile(filepath.Join(root, "api", name))
		if err != nil {
			t.Error(err)
			continue
		}
		is, was := strings.Split(text, "\n"), strings.Split(strings.ReplaceAll(string(listed), "\r\n", "\n"), "\n")
		for _, l := range was {
			if !slices.Contains(is, l) {
				t.Errorf("api/%s: no longer there: %s", name, l)
			}
		}
		for _, l := range is {
			if !slices.Contains(was, l) {
				t.Errorf("api/%s: not listed: %s", name, l)
			}
		}
	}
	if t.Failed() {
		t.Log("if the API is meant to change, run make api and commit the listing with the change")
	}
}

func TestLines(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", `package a
const ( A Kind = iota; b; C )
var Err = errors.New("a")
type Kind uint8
type S[T any] struct { F, G int; h int; *Kind }
type I interface { M(a, b int) (n int, err error); m() }
type Old = S[int]
func (s *S[T]) Do(f func(T) bool) error { return nil }
func (h hidden) Do() {}
func F[T any](a, b T, more ...T) T { return a }
func f() {}
`)
	write("a_windows.go", "package a\nfunc W() {}\n")
	write("tagged.go", "//go:build cuda && linux\n\npackage a\nfunc T() {}\n")
	write("lanes.go", "//go:build goexperiment.simd && go1.27 && amd64\n\npackage a\nfunc V() {}\nfunc W() {}\n")
	write("a_test.go", "package a\nfunc Test() {}\n")
	lines, err := listPackage(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	want := []string{
		" (linux-amd64-simd), func V()",
		" (linux-amd64-tags linux-arm64-tags), func T()",
		" (windows-amd64 windows-amd64-tags), func W()",
		", const A Kind = iota (iota 0)",
		", const C Kind = iota (iota 2)",
		", func F[T any](T, T, ...T) T",
		", method (*S[T]) Do(func(T) bool) error",
		", type I interface",
		", type I interface, M(int, int) (int, error)",
		", type I interface, unexported members",
		", type Kind uint8",
		", type Old = S[int]",
		", type S[T any] struct",
		", type S[T any] struct, F int",
		", type S[T any] struct, G int",
		", type S[T any] struct, embedded *Kind",
		", type S[T any] struct, unexported members",
		`, var Err = errors.New("a")`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
