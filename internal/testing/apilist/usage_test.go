package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"
)

type sources map[string]*types.Package

func (s sources) Import(path string) (*types.Package, error) { return s[path], nil }

// A name is used if another package uses it, whatever it is; a method also if an interface has it, and a type if a function that is used
// returns it.
func TestNamesThatAreUsed(t *testing.T) {
	w, from := &world{fset: token.NewFileSet()}, sources{}
	for _, p := range []struct{ path, text string }{
		{module + "/p", `package p
type T struct { Seen, Lost int; hidden int }
func (T) Called() {}
func (*T) Close() {}
func (T) Own() {}
type G[E any] struct { Of E }
func (G[E]) Len() int { return 0 }
type I interface { Do() }
type Closer interface { Close() }
func New() T { T{}.Own(); return T{} }
type E struct{}
func (E) Error() string { return "" }
func (E) Is(error) bool { return false }
func Alone() {}
const C, hidden = 1, 2`},
		{module + "/examples/q", `package q
import "` + module + `/p"
func f(i p.I) int { i.Do(); v := p.New(); v.Called(); return p.G[int]{Of: v.Seen}.Len() + p.C }`},
		{module + "/internal/r", "package r\nfunc Hidden() {}"},
	} {
		f, err := parser.ParseFile(w.fset, p.path+"/a.go", p.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		pkg, err := (&types.Config{Importer: from}).Check(p.path, w.fset, []*ast.File{f}, info)
		if err != nil {
			t.Fatal(err)
		}
		from[p.path] = pkg
		w.packages = append(w.packages, checked{p.path, pkg, info})
	}
	var used, unused []string
	for _, n := range w.count() {
		if n.used {
			used = append(used, n.name)
		} else {
			unused = append(unused, n.name)
		}
	}
	slices.Sort(used)
	slices.Sort(unused)
	if want := []string{"C", "E.Is", "G", "G.Len", "G.Of", "I", "I.Do", "New", "T", "T.Called", "T.Close", "T.Seen"}; !slices.Equal(want, used) {
		t.Errorf("used %q, want %q", used, want)
	}
	if want := []string{"Alone", "Closer", "Closer.Close", "E", "E.Error", "T.Lost", "T.Own"}; !slices.Equal(want, unused) {
		t.Errorf("not used %q, want %q", unused, want)
	}
}

func TestPublicPackages(t *testing.T) {
	for path, want := range map[string]bool{"hal": true, "comm/mpi": true, "backends/host": true, "internal/dl": false, "buffer/internal/order": false,
		"examples/first": false, "bench": false, "cmd/halyard": false} {
		if got := public(module + "/" + path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// Package lanes is empty in other builds than those with package simd, so its names are counted by what files say.
func TestNamesOfVectors(t *testing.T) {
	names, err := ofVectors(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	used := func(name string) bool {
		return slices.ContainsFunc(names, func(n *exported) bool { return n.name == name && n.used })
	}
	if len(names) < 100 || !used("Hardware") || used("StoreUint32s") {
		t.Errorf("%d names; of Hardware, that generated files name, it says %v, and of StoreUint32s, that none does, %v", len(names),
			used("Hardware"), used("StoreUint32s"))
	}
}
