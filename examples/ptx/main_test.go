package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestSaxpyIsRight(t *testing.T) {
	var out strings.Builder
	err := run(context.Background(), &out)
	switch {
	case errors.Is(err, errSkip) && strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvidia"):
		t.Fatal(err)
	case errors.Is(err, errSkip):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "right") {
		t.Errorf("output %q", out.String())
	}
}
