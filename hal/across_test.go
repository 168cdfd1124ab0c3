package hal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// recorder is a host backend whose devices know each other's events and not each other's memory. It writes down what
// streams are given, and fails calls on demand.
type recorder struct {
	hooked.Backend
	lacks  driver.Caps
	bus    bool        // the devices gain by page-locked memory
	places [2]int      // which devices a copy is between
	full   func() bool // there is no more memory, nil if there always is
	failAt int64
	calls  atomic.Int64
	alive  atomic.Int64 // memory, streams and events

	mu   sync.Mutex
	acts []act
	last map[*hooked.Event]int // the act that recorded it last

	locked sync.Map // the size of page-locked memory, by its lock
}

// act is one thing that a stream was given.
type act struct {
	stream *hooked.Stream
	what   string // "out", "in", "record" or "wait"
	after  int    // of a wait: the act that it waits for, -1 for none
	host   uintptr
	locked bool
	off    uint64
}

// lock is a device that knows memory at an address as page-locked.
type lock struct {
	d  *hooked.Device
	at uintptr
}

func newRecorder() *recorder {
	r := &recorder{places: [2]int{1, 2}, last: map[*hooked.Event]int{}}
	r.Backend = hooked.Backend{
		Backend:    host.New(host.Options{Name: "recorded", Discrete: 2}),
		Call:       r.fail,
		PeerAccess: func(*hooked.Device, *hooked.Device) driver.PeerAccess { return driver.PeerWait },
		Info: func(i driver.Info) driver.Info {
			i.Caps &^= r.lacks | driver.CapRegister
			i.PCI = ""
			if r.bus {
				i.PCI = "0000:3b:00.0"
			}
			return i
		},
		Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
			if r.full != nil && r.full() {
				return nil, &driver.Error{Op: "alloc", Kind: driver.ErrOutOfMemory, Detail: "as planned"}
			}
			m, err := d.PlainAlloc(kind, size, align)
			if err == nil {
				r.alive.Add(1)
			}
			if err == nil && kind == driver.KindHost {
				r.locked.Store(lock{d, uintptr(m.HostPointer())}, size)
			}
			return m, err
		},
		NewStream: func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
			r.alive.Add(1)
			return d.PlainNewStream(o)
		},
		NewEvent: func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
			r.alive.Add(1)
			return d.PlainNewEvent(o)
		},
		Free:        func(m *hooked.Memory) error { r.alive.Add(-1); return m.PlainFree() },
		CloseStream: func(s *hooked.Stream) error { r.alive.Add(-1); return s.Stream.Close() },
		CloseEvent:  func(e *hooked.Event) error { r.alive.Add(-1); return e.Event.Close() },
		CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
			r.note(act{stream: s, what: "in", host: uintptr(src), off: dst.Off, locked: r.isLocked(s.Device, src)})
			return s.Stream.CopyIn(dst, src)
		},
		CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
			r.note(act{stream: s, what: "out", host: uintptr(dst), off: src.Off, locked: r.isLocked(s.Device, dst)})
			return s.Stream.CopyOut(dst, src)
		},
		Record: func(s *hooked.Stream, e *hooked.Event) error {
			r.mu.Lock()
			r.last[e] = len(r.acts)
			r.mu.Unlock()
			r.note(act{stream: s, what: "record"})
			return s.Stream.Record(e.Event)
		},
		Wait: func(s *hooked.Stream, e *hooked.Event) error {
			r.mu.Lock()
			after, ok := r.last[e]
			r.mu.Unlock()
			if !ok {
				after = -1
			}
			r.note(act{stream: s, what: "wait", after: after})
			return s.Stream.Wait(e.Event)
		},
	}
	return r
}

func (r *recorder) note(a act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, a)
}

func (r *recorder) fail(op string, _ int) error {
	switch op {
	case "Alloc", "NewEvent", "CopyIn", "CopyOut", "Record", "Wait":
		if r.calls.Add(1) == r.failAt {
			return &driver.Error{Op: op, Kind: driver.ErrDriver, Detail: "as planned"}
		}
	}
	return nil
}

// isLocked reports whether the device knows the memory as page-locked.
func (r *recorder) isLocked(d *hooked.Device, p unsafe.Pointer) bool {
	found := false
	r.locked.Range(func(k, size any) bool {
		at := k.(lock).at
		found = k.(lock).d == d && uintptr(p) >= at && uintptr(p) < at+uintptr(size.(uint64))
		return !found
	})
	return found
}

// before tells which acts happen before which, by the order of streams and by events.
func (r *recorder) before() func(a, b int) bool {
	n := len(r.acts)
	past := make([]map[int]bool, n) // what happens before each act
	onStream := map[*hooked.Stream]int{}
	for i, a := range r.acts {
		past[i] = map[int]bool{}
		join := func(j int) {
			past[i][j] = true
			for k := range past[j] {
				past[i][k] = true
			}
		}
		if j, ok := onStream[a.stream]; ok {
			join(j)
		}
		if a.what == "wait" && a.after >= 0 {
			join(a.after)
		}
		onStream[a.stream] = i
	}
	return func(a, b int) bool { return past[b][a] }
}

// acrossFixture is a copy of n bytes between two devices of a recorder, whose streams are shut while it is enqueued: nothing that is
// enqueued can be left out because it is done.
type acrossFixture struct {
	r    *recorder
	d    [2]*hal.Device
	s    [2]*hal.Stream
	m    [2]*hal.Memory
	want []byte
	open func()
}

func newAcross(t *testing.T, r *recorder, n uint64) *acrossFixture {
	f := &acrossFixture{r: r, want: make([]byte, n)}
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(f.want)
	var gates []*hal.Gate
	for i := range f.d {
		var err error
		f.d[i], err = hal.OpenWith(ctx, r, r.places[i])
		require.NoError(t, err)
		f.s[i], err = f.d[i].NewStream()
		require.NoError(t, err)
		f.m[i], err = f.d[i].Alloc(hal.KindDevice, n, 0)
		require.NoError(t, err)
	}
	require.NoError(t, f.s[0].CopyIn(f.m[0].All(), f.want))
	require.NoError(t, f.s[0].Sync(ctx))
	for i := range f.s {
		g, err := f.s[i].Gate()
		require.NoError(t, err)
		gates = append(gates, g)
	}
	f.open = func() {
		for _, g := range gates {
			require.NoError(t, g.Signal())
		}
	}
	r.acts = nil
	return f
}

// finish closes everything, and requires that nothing is left.
func (f *acrossFixture) finish(t *testing.T) {
	for i := range f.d {
		require.NoError(t, f.s[i].Sync(ctx))
		require.NoError(t, f.m[i].Close())
		require.NoError(t, f.s[i].Close())
	}
	for _, d := range f.d {
		require.NoError(t, d.Close())
	}
	require.Zero(t, f.r.alive.Load(), "memory, streams and events that are alive")
}

func (f *acrossFixture) got(t *testing.T) []byte {
	b := make([]byte, len(f.want))
	require.NoError(t, f.s[1].CopyOut(b, f.m[1].All()))
	require.NoError(t, f.s[1].Sync(ctx))
	return b
}

// A staged copy reads the next piece from the source while it writes the last one to the destination: in the order that streams and
// events make, each is free to come first. What has to be ordered is.
func TestAcrossLegsOverlap(t *testing.T) {
	for _, bus := range []bool{false, true} {
		r := newRecorder()
		r.bus = bus
		f := newAcross(t, r, 5<<20+3)
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
		var out, in []int
		for i, a := range r.acts {
			switch a.what {
			case "out":
				out = append(out, i)
				require.Equal(t, bus, a.locked, "the source fills page-locked memory")
			case "in":
				in = append(in, i)
			}
		}
		require.Len(t, in, len(out))
		require.Greater(t, len(out), 6)
		before := r.before()
		for k := range out {
			require.Equal(t, r.acts[out[k]].host, r.acts[in[k]].host)
			require.Equal(t, r.acts[out[k]].off, r.acts[in[k]].off)
			require.True(t, before(out[k], in[k]), "piece %d is written before it is read", k)
			if k > 0 {
				require.False(t, before(in[k-1], out[k]), "piece %d is not read before piece %d is written", k, k-1)
				require.False(t, before(out[k], in[k-1]), "piece %d is not written before piece %d is read", k-1, k)
			}
			for j := range k { // memory is not filled again before it has been read
				if r.acts[out[j]].host == r.acts[out[k]].host {
					require.True(t, before(in[j], out[k]), "piece %d takes the place of piece %d too soon", k, j)
				}
			}
		}
		f.open()
		require.True(t, bytes.Equal(f.want, f.got(t)))
		f.finish(t)
	}
}

// Whatever call fails, the error is reported or the bytes are right, and nothing is left behind: in the first copy, in one
// through memory that is kept from before, and in one to or from memory that the host can touch.
func TestAcrossEveryCallFails(t *testing.T) {
	for _, lacks := range []driver.Caps{0, hal.CapOrderedPageable} {
		for _, places := range [][2]int{{1, 2}, {0, 1}, {1, 0}} {
			for _, warm := range []bool{false, true} {
				for n := int64(1); ; n++ {
					r := newRecorder()
					r.bus, r.lacks, r.places = lacks == 0 && places[0]*places[1] > 0, lacks, places
					if failCall(t, r, n, warm) {
						require.Greater(t, n, int64(3))
						break
					}
				}
			}
		}
	}
}

// failCall copies across while the n-th call fails, and reports whether there were fewer.
func failCall(t *testing.T, r *recorder, n int64, warm bool) (past bool) {
	f := newAcross(t, r, 1<<20+1)
	label := fmt.Sprintf("call %d between %v, before it one that worked: %t", n, r.places, warm)
	if warm {
		f.open()
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
		require.NoError(t, f.s[1].CopyIn(f.m[1].All(), make([]byte, len(f.want))))
		require.NoError(t, f.s[1].Sync(ctx))
		f.open = func() {}
	}
	r.calls.Store(0)
	r.failAt = n
	err := hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All())
	past = r.calls.Load() < n
	r.failAt = 0
	f.open()
	if err == nil {
		require.True(t, bytes.Equal(f.want, f.got(t)), label)
	} else {
		require.ErrorIs(t, err, hal.ErrDriver, label)
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
		require.True(t, bytes.Equal(f.want, f.got(t)), label)
	}
	f.finish(t)
	return past
}
