package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal"
)

func TestMain(m *testing.M) {
	os.Setenv("HALYARD_HOST_DEVICES", "1") // one with memory of its own
	os.Exit(m.Run())
}

// The result is right on every device of the machine, with each way in which OpenCL reaches memory.
func TestSaxpyIsRight(t *testing.T) {
	devices, err := hal.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, d := range devices {
		memory := []string{""}
		if d.Backend == "opencl" {
			memory = []string{"", "usm", "svm", "svm-coarse", "buffer"}
		}
		for _, tier := range memory {
			t.Run(strings.Trim(d.Name()+"/"+tier, "/"), func(t *testing.T) {
				t.Setenv("HALYARD_OPENCL_MEMORY", tier)
				switch err := run(t.Context(), d.Name()); {
				case d.Backend != "host" && (errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable)):
					t.Skip(err)
				case err != nil:
					t.Fatal(err)
				}
				ran[d.Backend] = true
				ran["nvidia"] = ran["nvidia"] || d.Backend == "cuda" && !d.Simulated
			})
		}
	}
	for _, name := range []string{"opencl", "nvidia"} {
		if !ran[name] && strings.Contains(os.Getenv("HALYARD_REQUIRE"), name) {
			t.Errorf("HALYARD_REQUIRE asks for %s, and the kernel ran on no such device", name)
		}
	}
}
