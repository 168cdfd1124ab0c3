// Package everytest tests an example on every device of the machine.
package everytest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/emulator"
	"github.com/go-halyard/halyard/kernel"
)

// Device runs fn as a test on each device of the machine and on one device of the host backend that has memory of its own. It does so twice. The
// second time is in a process with HALYARD_CHECK=kernels, which fails if a kernel writes to an In or does not write all of an Out.
// Devices that run no kernels, or none with blocks as large as the example's, are skipped. If HALYARD_REQUIRE names opencl or vulkan, fn must run on a
// device of that backend.
func Device(t *testing.T, fn func(t *testing.T, stream *hal.Stream) error) {
	t.Helper()
	ran := onEach(t, fn)
	for _, backend := range []string{"opencl", "vulkan"} {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), backend) && !ran[backend] {
			t.Errorf("HALYARD_REQUIRE asks for %s, and the kernels ran on no such device", backend)
		}
	}
	inCheckingMode(t)
}

// onEach runs fn on each device, and returns the backends on which it ran.
func onEach(t *testing.T, fn func(t *testing.T, stream *hal.Stream) error) map[string]bool {
	t.Helper()
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	devices, err := hal.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, d := range devices {
		t.Run(d.Name(), func(t *testing.T) {
			streams, closeAll, err := every.Streams(t.Context(), d.Name())
			if err == nil {
				defer func() {
					if err := closeAll(); err != nil {
						t.Error(err)
					}
				}()
				err = fn(t, streams[0])
			}
			switch {
			case d.Backend != "host" && (every.Unusable(err) || blockTooLarge(err)):
				t.Skip(err)
			case err != nil:
				t.Fatal(err)
			}
			ran[d.Backend] = true
		})
	}
	return ran
}

// blockTooLarge reports whether err says that the example's blocks have more threads than the device allows for the kernel. With Mesa's Rusticl on a
// processor the limit is 32 for kernels with barriers.
func blockTooLarge(err error) bool {
	return errors.Is(err, hal.ErrInvalidArgument) && strings.Contains(err.Error(), "threads; the limit for this kernel is ")
}

func inCheckingMode(t *testing.T) {
	t.Helper()
	// The variable is read when a process starts, so this takes another process.
	if os.Getenv(kernel.EnvCheck) == "" {
		checked := emulator.Command(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		checked.Env = append(os.Environ(), kernel.EnvCheck+"=kernels")
		if out, err := checked.CombinedOutput(); err != nil {
			t.Errorf("in checking mode: %v\n%s", err, out)
		}
	}
}
