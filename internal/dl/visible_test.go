//go:build linux

package dl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// visibleRuns counts libraries, so that each has symbols of its own.
var visibleRuns atomic.Int64

// The symbols of a library that was opened visibly are those of the program too; others' are not.
func TestOnlyVisibleLibrariesShowTheirSymbols(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	shown, hides := fmt.Sprint("shown", visibleRuns.Add(1)), fmt.Sprint("hidden", visibleRuns.Add(1)) // libraries stay open, also for the next run
	build := func(name string) string {
		source, lib := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(source, []byte("int halyard_"+name+"(void) { return 7; }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return lib
	}
	if _, err := OpenVisible("", build(shown)); err != nil {
		t.Fatal(err)
	}
	hidden, err := Open("", build(hides))
	if err != nil {
		t.Fatal(err)
	}
	if p := Process().Proc("halyard_" + shown); !p.Valid() || int32(p.Call0()) != 7 {
		t.Error("the symbols of a visible library are not found in the program")
	}
	if Process().Proc("halyard_" + hides).Valid() {
		t.Error("the symbols of a library that is not visible are found in the program")
	}
	// Opened again, it becomes visible.
	if _, err := OpenVisible("", hidden.Name()); err != nil || !Process().Proc("halyard_"+hides).Valid() {
		t.Error("a library did not become visible: ", err)
	}
}
