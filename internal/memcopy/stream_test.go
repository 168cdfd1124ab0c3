package memcopy

import (
	"bytes"
	"testing"
	"unsafe"
)

// A streamed copy is a copy, at every offset from the unit that its stores need and
// around every length at which it changes its way.
func TestStreamMove(t *testing.T) {
	const room = 128
	most := 3*streamBlock + room
	src, dst, want := make([]byte, most+2*room), make([]byte, most+2*room), make([]byte, most+2*room)
	copy(src, counting(len(src), 1))
	beside := bytes.Repeat([]byte{0xee}, len(dst))
	for _, size := range []int{0, 1, 31, 63, 64, 65, 4096, streamBlock - 1, streamBlock, streamBlock + 1, streamBlock + 63,
		streamBlock + 64, streamBlock + 65, 2*streamBlock + 64, 2*streamBlock + 65, most} {
		for at := range 65 {
			from := (at * 7) % 65
			copy(dst, beside)
			copy(want, beside)
			copy(want[at:], src[from:from+size])
			streamMove(unsafe.Pointer(&dst[at]), unsafe.Pointer(&src[from]), uint64(size))
			if err := differ(dst, want); err != nil {
				t.Fatalf("%d bytes to offset %d from %d: %v", size, at, from, err)
			}
		}
	}
}

// Every plan copies all.
func TestPlansCopy(t *testing.T) {
	const size = 5*least + 4097
	src := counting(size+1, 3)
	for _, p := range candidates(4*least, 4) {
		dst := make([]byte, size+2)
		p.run(task{dst: unsafe.Pointer(&dst[1]), src: unsafe.Pointer(&src[1]), n: size})
		if err := differ(dst[1:size+1], src[1:]); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		if dst[0] != 0 || dst[size+1] != 0 {
			t.Errorf("%+v wrote beside the range", p)
		}
	}
}
