package cudahip

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// pageableAPI is an API that copies at once. Host functions of a busy stream, and the copies behind them, wait until it is
// released.
type pageableAPI struct {
	API
	blocks map[uintptr][]byte // page-locked memory
	made   [2]int             // small and large blocks
	freed  int
	busy   map[uintptr][]func()
	calls  int // host functions
	refuse int // the copy that fails, counted down
	held   [][]byte
}

func (a *pageableAPI) HostAlloc(_ Context, n uintptr) (uintptr, Code) {
	b := make([]byte, n)
	addr := uintptr(unsafe.Pointer(&b[0]))
	a.blocks[addr] = b
	a.made[slices.Index(blockSizes[:], uintptr(n))]++
	return addr, Success
}

func (a *pageableAPI) HostFree(_ Context, addr uintptr) Code {
	delete(a.blocks, addr)
	a.freed++
	return Success
}

func (a *pageableAPI) StreamQuery(_ Context, s uintptr) Code {
	if _, busy := a.busy[s]; busy {
		return CodeNotReady
	}
	return Success
}

func (a *pageableAPI) do(s uintptr, fn func()) {
	if todo, busy := a.busy[s]; busy {
		a.busy[s] = append(todo, fn)
		return
	}
	fn()
}

// pass lets a busy stream finish its work.
func (a *pageableAPI) pass(s uintptr) {
	todo := a.busy[s]
	delete(a.busy, s)
	for _, fn := range todo {
		fn()
	}
}

func (a *pageableAPI) HostCall(_ Context, s uintptr, fn func()) (uintptr, Code) {
	a.calls++
	a.do(s, fn)
	return 1, Success
}

func (a *pageableAPI) HostCancel(uintptr) bool { return false }

func (a *pageableAPI) CopyIn(_ Context, dst, src, n, s uintptr) Code {
	if a.refuse--; a.refuse == 0 {
		return CodeInvalidValue
	}
	a.do(s, func() {
		copy(unsafe.Slice((*byte)(dl.Pointer(dst)), n), unsafe.Slice((*byte)(dl.Pointer(src)), n))
	})
	return Success
}

func (a *pageableAPI) CopyOut(ctx Context, dst, src, n, s uintptr) Code {
	return a.CopyIn(ctx, dst, src, n, s)
}

func (a *pageableAPI) StreamDestroy(Context, uintptr) Code { return Success }

func (a *pageableAPI) Name(Call) string { return "copy" }

func pageableDevice() (*Device, *pageableAPI) {
	a := &pageableAPI{blocks: make(map[uintptr][]byte), busy: make(map[uintptr][]func())}
	v := &Vendor{Name: "test", LegacyStream: 1, Codes: Codes{1: {Kind: driver.ErrInvalidArgument}}}
	d := &Device{api: a, lib: &library{vendor: v, api: a}}
	d.info.Caps, d.info.PCI = driver.CapHostCallback|driver.CapOrderedPageable, "0000:3b:00.0"
	return d, a
}

func (a *pageableAPI) stream(d *Device, handle uintptr) *Stream {
	return &Stream{dev: d, api: a, handle: handle}
}

// memory returns a region of device memory whose bytes are b.
func (a *pageableAPI) memory(d *Device, b []byte) driver.Region {
	a.held = append(a.held, b)
	m := &Memory{dev: d, addr: uintptr(unsafe.Pointer(&b[0])), size: uint64(len(b))}
	return driver.Region{Mem: m, Len: m.size}
}

func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// Only an idle stream reads the source at once, and only as many bytes as its block holds. On a busy stream earlier
// work could still write the source.
func TestOnlyAnIdleStreamReadsAtOnce(t *testing.T) {
	const n = 9<<20 + 5
	for _, c := range []struct {
		name    string
		handle  uintptr
		foreign bool
		busy    bool
		atOnce  int // bytes
		calls   int // host functions
	}{
		{"idle", 7, false, false, 4 << 20, 2},
		{"idle and imported", 7, true, false, 4 << 20, 2},
		{"busy", 7, false, true, 0, 3},
		{"the default stream", 1, true, false, 0, 3},
	} {
		d, a := pageableDevice()
		s := a.stream(d, c.handle)
		s.foreign = c.foreign
		if c.busy {
			a.busy[c.handle] = nil
		}
		got, want, src := make([]byte, n), numbers(n), numbers(n)
		if err := s.CopyIn(a.memory(d, got), unsafe.Pointer(&src[0])); err != nil {
			t.Fatal(err)
		}
		if c.busy { // earlier work of the stream writes src
			for i := range src {
				src[i]++
				want[i]++
			}
			a.pass(c.handle)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong bytes", c.name)
		}
		if a.calls != c.calls {
			t.Errorf("%s: %d host functions, want %d", c.name, a.calls, c.calls)
		}
	}
}

// The program may change bytes that were read at once before the stream reaches the copy.
func TestSourceReadAtOnceMayChange(t *testing.T) {
	d, a := pageableDevice()
	s := a.stream(d, 7)
	got, src := make([]byte, 1<<20), numbers(1<<20)
	if err := s.CopyIn(a.memory(d, got), unsafe.Pointer(&src[0])); err != nil {
		t.Fatal(err)
	}
	clear(src)
	if !bytes.Equal(got, numbers(1<<20)) || a.calls != 0 {
		t.Errorf("%d host functions, or wrong bytes", a.calls)
	}
}

// The number of large blocks is limited. Busy streams that get none use small blocks, and take a large block from a
// stream that has become idle.
func TestLargeBlocksAreBounded(t *testing.T) {
	const streams, n = 40, 1 << 20
	d, a := pageableDevice()
	src := numbers(n)
	var all []*Stream
	var got [][]byte
	enqueue := func(s *Stream) {
		b := make([]byte, n)
		got = append(got, b)
		if err := s.CopyIn(a.memory(d, b), unsafe.Pointer(&src[0])); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uintptr(streams) {
		s := a.stream(d, 10+i)
		all = append(all, s)
		a.busy[s.handle] = nil
		enqueue(s)
	}
	if want := [2]int{streams - largeBlocks, largeBlocks}; a.made != want {
		t.Fatalf("%d small and large blocks, want %d", a.made, want)
	}
	a.pass(all[3].handle)
	last := all[streams-1]
	enqueue(last)
	if last.staging.blocks[large] == 0 || all[3].staging.blocks[large] != 0 {
		t.Error("the block of an idle stream is not passed on")
	}
	enqueue(all[3]) // idle, and without a large block
	for _, s := range all {
		a.pass(s.handle)
	}
	for i, b := range got {
		if !bytes.Equal(b, src) {
			t.Errorf("copy %d: wrong bytes", i)
		}
	}
	for range 3 { // streams that come later make none
		for _, s := range all {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range all {
			all[i] = a.stream(d, all[i].handle)
			enqueue(all[i])
		}
	}
	if a.made[large] != largeBlocks || a.made[small] > streams {
		t.Errorf("%d small and large blocks", a.made)
	}
	for _, s := range all {
		_ = s.Close()
	}
	d.Trim()
	if a.freed != a.made[small]+a.made[large] || d.staging.made != 0 || len(d.staging.users) != 0 {
		t.Errorf("%d of %d blocks freed", a.freed, a.made)
	}
}

// A copy that fails half way does not disturb the next one.
func TestStagedCopyFailsHalfWay(t *testing.T) {
	const n = 9 << 20
	for k := 1; ; k++ {
		d, a := pageableDevice()
		s := a.stream(d, 7)
		got, src := make([]byte, n), numbers(n)
		a.refuse = k
		err := s.CopyIn(a.memory(d, got), unsafe.Pointer(&src[0]))
		if err == nil {
			if k < 6 {
				t.Fatalf("the copy has %d pieces", k-1)
			}
			return
		}
		if !errors.Is(err, driver.ErrInvalidArgument) {
			t.Fatal(err)
		}
		if err := s.CopyIn(a.memory(d, got), unsafe.Pointer(&src[0])); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("after piece %d: %v, or wrong bytes", k, err)
		}
		back := make([]byte, n)
		if err := s.CopyOut(unsafe.Pointer(&back[0]), a.memory(d, got)); err != nil || !bytes.Equal(back, src) {
			t.Fatalf("after piece %d: %v, or wrong bytes", k, err)
		}
	}
}
