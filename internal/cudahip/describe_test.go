package cudahip

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

func TestBusAddressesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"0000:3b:00.0":     "0000:3b:00.0",
		"00000001:0A:1f.7": "0001:0a:1f.7",
		"0000:3B:00":       "0000:3b:00.0",
		"3b:00.1":          "0000:3b:00.1",
		"":                 "",
		"somewhere":        "",
	} {
		if got := busAddress(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func TestPatternsShrinkToTheSameBytes(t *testing.T) {
	for _, p := range []struct {
		bits        uint64
		width, want uint8
	}{
		{0x5a, 1, 1},
		{0x5a5a, 2, 1},
		{0x5a5b, 2, 2},
		{0x5a5a5a5a, 4, 1},
		{0x12341234, 4, 2},
		{0x12345678, 4, 4},
		{0, 8, 1},
		{0x1234567812345678, 8, 4},
		{0x1234123412341234, 8, 2},
		{0x1234567812345679, 8, 8},
	} {
		got := shortest(driver.Pattern{Bits: p.bits, Width: p.width})
		if got.Width != p.want {
			t.Errorf("%#x of %d bytes shrinks to %d, want %d", p.bits, p.width, got.Width, p.want)
		}
		mask := uint64(1)<<(8*got.Width-1)<<1 - 1
		if got.Bits&mask != p.bits&mask {
			t.Errorf("%#x of %d bytes became %#x", p.bits, p.width, got.Bits)
		}
	}
}
