package memcopy

import (
	"testing"

	"github.com/go-halyard/halyard/internal/testing/pintest"
)

func TestReadable(t *testing.T) {
	words := []uintptr{7, 8}
	at := pintest.Slice(t, words)
	if w, ok := Word(at); !ok || w != 7 {
		t.Errorf("%d, %t at a word of 7", w, ok)
	}
	if !Readable(at + 13) {
		t.Error("a byte of the process is not readable")
	}
	for _, wild := range []uintptr{0, 1, 4096, ^uintptr(0), ^uintptr(0)/3*2 + 1, ^uintptr(0) >> 1} {
		if _, ok := Word(wild); ok || Readable(wild) {
			t.Errorf("%#x is readable", wild)
		}
	}
}
