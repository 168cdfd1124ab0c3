package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// A compiler's log comes whole, however long it is, and without the NUL at its end.
func TestBuildLogIsShown(t *testing.T) {
	defer func(text string) { saxpySource = text }(saxpySource)
	unknown := strings.Repeat("unknown_", 1000)
	for text, says := range map[string]string{
		"kernel void saxpy(global float *x) { *x = short_name; }":       "short_name",
		"kernel void saxpy(global float *x) { *x = " + unknown + "1; }": unknown + "1",
	} {
		saxpySource = text
		err := run(context.Background(), io.Discard)
		if errors.Is(err, errSkip) {
			t.Skip(err)
		}
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\x00") {
			t.Errorf("error %.300q of %d bytes", err, len(fmt.Sprint(err)))
		}
	}
}
