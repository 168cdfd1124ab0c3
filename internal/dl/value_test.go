//go:build linux || darwin

package dl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

const byValue = `
#include <string.h>
struct block { unsigned long long word[16]; };
/* The struct is at each place once, and all that was passed must be what the caller gave. */
static long check(const struct block *b, long n, const long *args) {
	for (int i = 0; i < 16; i++)
		if (b->word[i] != 1000ull + (unsigned)i) return -1 - i;
	for (long i = 0; i < n; i++)
		if (args[i] != i + 1) return -100 - i;
	return n;
}
long first(struct block b, long a1, long a2) { long a[] = {a1, a2}; return check(&b, 2, a); }
long middle(long a1, long a2, struct block b, long a3, long a4) { long a[] = {a1, a2, a3, a4}; return check(&b, 4, a); }
long last(long a1, long a2, long a3, long a4, long a5, long a6, struct block b) { long a[] = {a1, a2, a3, a4, a5, a6}; return check(&b, 6, a); }
long alone(struct block b) { return check(&b, 0, 0); }
struct three { unsigned long long a, b, c; };
long small(long a1, struct three t, long a2) { return a1 == 1 && a2 == 2 && t.a == 1000 && t.b == 1001 && t.c == 1002 ? 2 : -1; }
`

func TestStructsArePassedByValue(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	source, path := filepath.Join(dir, "value.c"), filepath.Join(dir, "value.so")
	if err := os.WriteFile(source, []byte(byValue), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lib, err := dl.Open("", path)
	if err != nil {
		t.Fatal(err)
	}
	value := make([]uint64, dl.MaxValue)
	for i := range value {
		value[i] = 1000 + uint64(i)
	}
	for _, row := range []struct {
		name          string
		args, at, len int
	}{{"first", 2, 0, 16}, {"middle", 4, 2, 16}, {"last", 6, 6, 16}, {"alone", 0, 0, 16}, {"small", 2, 1, 3}} {
		args := make([]uintptr, row.args)
		for i := range args {
			args[i] = uintptr(i + 1)
		}
		if got := int(lib.Proc(row.name).ByValue(args, row.at, value[:row.len])); got != row.args {
			t.Errorf("%s: %d", row.name, got)
		}
	}
	for _, bad := range []func(p dl.Proc){
		func(p dl.Proc) { p.ByValue(make([]uintptr, 7), 0, value) },
		func(p dl.Proc) { p.ByValue(make([]uintptr, 1), 2, value) },
		func(p dl.Proc) { p.ByValue(nil, 0, value[:2]) },
		func(p dl.Proc) { p.ByValue(nil, 0, make([]uint64, dl.MaxValue+1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("arguments that cannot be passed were passed")
				}
			}()
			bad(lib.Proc("alone"))
		}()
	}
}
