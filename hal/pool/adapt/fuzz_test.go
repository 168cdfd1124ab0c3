package adapt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

// What is no log is an error, and what is one can be replayed or not, but never crashes.
func FuzzReadLog(f *testing.F) {
	f.Add("")
	f.Add("Time,Action,Pointer,Kind,Size,Stream\n2026-01-02T03:04:05.000006Z,allocate,0x10,device,64,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := adapt.ReadLog(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, hal.ErrInvalidArgument) || lines != nil {
				t.Fatalf("%d lines, %v", len(lines), err)
			}
			return
		}
		_, _ = adapt.NewReplay(lines)
	})
}
