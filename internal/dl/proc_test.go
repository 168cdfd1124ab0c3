package dl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

func TestEveryArityPassesItsArguments(t *testing.T) {
	var got [dl.MaxArgs]uintptr
	p := dl.ProcAt(dl.NewEntry12(func(a [dl.MaxArgs]uintptr) uintptr {
		got = a
		return 77
	}))
	calls := []func() uintptr{
		p.Call0,
		func() uintptr { return p.Call1(1) },
		func() uintptr { return p.Call2(1, 2) },
		func() uintptr { return p.Call3(1, 2, 3) },
		func() uintptr { return p.Call4(1, 2, 3, 4) },
		func() uintptr { return p.Call5(1, 2, 3, 4, 5) },
		func() uintptr { return p.Call6(1, 2, 3, 4, 5, 6) },
		func() uintptr { return p.Call7(1, 2, 3, 4, 5, 6, 7) },
		func() uintptr { return p.Call8(1, 2, 3, 4, 5, 6, 7, 8) },
		func() uintptr { return p.Call9(1, 2, 3, 4, 5, 6, 7, 8, 9) },
		func() uintptr { return p.Call10(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) },
		func() uintptr { return p.Call11(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) },
		func() uintptr { return p.Call12(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) },
	}
	if len(calls) != dl.MaxArgs+1 {
		t.Fatalf("%d arities are tested, want %d", len(calls), dl.MaxArgs+1)
	}
	for n, call := range calls {
		got = [dl.MaxArgs]uintptr{}
		if r := call(); r != 77 {
			t.Errorf("Call%d returned %d, want 77", n, r)
		}
		for i := range n {
			if got[i] != uintptr(i+1) {
				t.Errorf("Call%d: argument %d is %d", n, i, got[i])
			}
		}
	}
}

// A call without the directive works until a stack moves under it.
func TestEveryCallEscapesItsPointers(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "procs_gen.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Call") {
			continue
		}
		found++
		if fn.Doc == nil || !slices.ContainsFunc(fn.Doc.List, func(c *ast.Comment) bool {
			return c.Text == "//go:uintptrescapes"
		}) {
			t.Errorf("%s lacks //go:uintptrescapes", fn.Name.Name)
		}
	}
	if found != dl.MaxArgs+1 {
		t.Errorf("found %d calls, want %d", found, dl.MaxArgs+1)
	}
}
