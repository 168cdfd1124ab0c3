//go:build opencl && linux

package opencl

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Whichever platform of this machine is slow, each device keeps its number, and a context that has not ended is no reason to fail.
func TestSlowDriverRenumbersNothing(t *testing.T) {
	usual := newBackend(loadTable)
	want, err := usual.Devices(t.Context())
	if err != nil {
		absent(t, err.Error())
	}
	l, err := usual.library("list devices")
	ok(t, err)
	listed, err := l.platforms(t.Context(), "list devices")
	ok(t, err)

	shim := filepath.Join(t.TempDir(), "libslow.so")
	build := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), "-shared", "-fPIC", "-o", shim, "testdata/slow.c", "-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl", "-lpthread")
	if text, err := build.CombinedOutput(); err != nil {
		t.Skipf("the library of this test does not build: %v: %s", err, text)
	}
	t.Setenv(libraryEnv, shim)
	lib, err := dl.Open(libraryEnv)
	ok(t, err)
	hold, asked := lib.Proc("hold"), lib.Proc("wait_until_asked")
	if !hold.Valid() || !asked.Valid() {
		t.Fatal("the library has not the functions of testdata/slow.c")
	}
	defer hold.Call1(^uintptr(0))
	for slow := range listed.platforms {
		b := newBackend(loadTable)
		hold.Call1(uintptr(slow))
		results, lists := make(chan string, len(want)), make(chan string)
		go func() {
			after, err := b.Devices(t.Context())
			lists <- fmt.Sprint(names(after), err)
		}()
		for i := range want {
			go func() {
				d, err := b.Open(t.Context(), i)
				if err != nil {
					results <- err.Error()
					return
				}
				model := d.Info().Model
				if err := d.Close(); err != nil {
					model = err.Error()
				}
				results <- fmt.Sprintf("%d: %s", i, model)
			}()
		}
		asked.Call0()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		before, err := b.Devices(ended)
		wantKind(t, err, driver.ErrNotReady)
		wantWords(t, err.Error(), fmt.Sprintf("platform %d (", slow))
		hold.Call1(^uintptr(0))
		got := map[string]bool{}
		for range want {
			got[<-results] = true
		}
		for i, info := range want {
			if i < len(before) && before[i].Model != info.Model {
				t.Errorf("platform %d is slow: device %d is %s before its answer, not %s", slow, i, before[i].Model, info.Model)
			}
			if line := fmt.Sprintf("%d: %s", i, info.Model); !got[line] {
				t.Errorf("platform %d is slow: opened %v, not %q", slow, got, line)
			}
		}
		if after := <-lists; after != fmt.Sprint(names(want), nil) {
			t.Errorf("platform %d is slow: devices %q, want %q", slow, after, names(want))
		}
	}
	t.Logf("%d platforms, %d devices", len(listed.platforms), len(want))
}
