package adapt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

// Text is a log or an error of one kind, and never both.
func FuzzReadLog(f *testing.F) {
	f.Add("")
	f.Add("Time,Action,Pointer,Size,Stream,Kind\n2026-01-02T03:04:05.000006Z,allocate,0x10,64,1,device\n")
	f.Fuzz(func(t *testing.T, text string) {
		replay, err := adapt.ReadLog(strings.NewReader(text))
		if err == nil != (replay != nil) || err != nil && !errors.Is(err, hal.ErrInvalidArgument) {
			t.Fatalf("%v, %v", replay, err)
		}
	})
}
