package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestSaxpyIsRightInEachTier(t *testing.T) {
	ran := 0
	for _, tier := range []string{"", "usm", "svm", "svm-coarse", "buffer"} {
		t.Run(tier, func(t *testing.T) {
			t.Setenv("HALYARD_OPENCL_MEMORY", tier)
			var out strings.Builder
			err := run(context.Background(), &out)
			switch {
			case errors.Is(err, errSkip):
				t.Skip(err)
			case err != nil:
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), " elements right") {
				t.Errorf("output %q", out.String())
			}
			t.Log(out.String())
			ran++
		})
	}
	if ran == 0 && strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
		t.Fatal("HALYARD_REQUIRE asks for OpenCL, and the kernel ran nowhere")
	}
}
