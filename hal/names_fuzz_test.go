package hal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
)

// A name opens the device that it names, or is an error of a kind that says why.
func FuzzDeviceNames(f *testing.F) {
	for _, name := range []string{"host", "host:0", "host:1", "cuda:0", "HOST:0", "host:-1", "host:99999999999999999999", ":", "", "host:0,host", "host:cpu", "host:cpu:1", "host:gpu:0"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d, err := hal.Open(context.Background(), name)
		if err != nil {
			if d != nil || !errors.Is(err, hal.ErrInvalidArgument) && !errors.Is(err, hal.ErrNotBuilt) &&
				!errors.Is(err, hal.ErrOutOfRange) && !errors.Is(err, hal.ErrUnavailable) {
				t.Fatalf("%q: %v", name, err)
			}
		} else if got, want := d.Name(), strings.Replace(name, ":cpu", "", 1); got != want && !strings.HasPrefix(got, want+":") || d.Close() != nil {
			t.Fatalf("%q opened %s", name, got)
		}
		if strings.ContainsRune(name, 0) {
			return // no environment can hold it
		}
		t.Setenv(hal.EnvDevices, name)
		infos, err := hal.Devices(context.Background())
		if err != nil && infos != nil {
			t.Fatalf("%q: both %v and %v", name, infos, err)
		}
	})
}
