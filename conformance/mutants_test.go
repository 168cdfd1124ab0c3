package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// mutant is a host backend that is broken in one way.
type mutant struct {
	name string
	bug  bug
}

// hanging are the mutants that some check never comes back from.
var hanging = map[string]bool{
	"copy in waits for the stream":            true,
	"wait holds up the caller":                true,
	"a second record changes earlier waits":   true,
	"a gate shuts every stream of the device": true,
	"streams wait for each other":             true,
	"callbacks are lost":                      true,
	"work waits for callbacks":                true,
	"frees wait for every stream":             true,
}

// cut is the region without its last n bytes.
func cut(r driver.Region, n uint64) driver.Region {
	r.Len -= min(n, r.Len)
	return r
}

// at is the region moved so that it begins at off, as far as the memory goes.
func at(r driver.Region, off uint64) driver.Region {
	r.Off = min(off, r.Mem.Size()-r.Len)
	return r
}

// grown is the region with up to n bytes more, as far as the memory goes.
func grown(r driver.Region, n uint64) driver.Region {
	r.Len = min(r.Len+n, r.Mem.Size()-r.Off)
	return r
}

// some runs an operation unless it is on nothing, which drivers are never asked for.
func some(n uint64, op func() error) error {
	if n == 0 {
		return nil
	}
	return op()
}

// latest makes a stream wait for whatever the event stands for when it is asked again.
func latest(s *shimStream, e *shimEvent) error {
	if done, _ := e.real.Query(); done {
		return nil
	}
	g, err := s.real.(driver.Gater).Gate()
	if err != nil {
		return err
	}
	go func() {
		for {
			_ = e.real.Sync()
			if done, _ := e.real.Query(); done {
				break
			}
		}
		_ = g.Open()
	}()
	return nil
}

type openGate struct{}

func (openGate) Open() error { return nil }

// gates opens several gates as one.
type gates []driver.Gate

func (g gates) Open() error {
	for _, one := range g {
		_ = one.Open()
	}
	return nil
}

func withInfo(change func(b *shim, i *driver.Info)) bug {
	return bug{info: func(b *shim, i driver.Info) driver.Info { change(b, &i); return i }}
}

func faulty(change func(e *driver.Error) error) bug {
	return bug{fault: func(_ *shim, e *driver.Error) error { return change(e) }}
}

var mutants = []mutant{
	// Enumeration.
	{"lists devices in changing order", bug{list: func(b *shim, infos []driver.Info) []driver.Info {
		if b.lists.Load()%2 == 0 && len(infos) > 2 {
			infos[1], infos[2] = infos[2], infos[1]
		}
		return infos
	}}},
	{"gives all devices one UUID", withInfo(func(_ *shim, i *driver.Info) { i.UUID = driver.UUID{1} })},
	{"numbers devices from one", withInfo(func(_ *shim, i *driver.Info) { i.Ordinal++ })},
	{"opens devices to list them", bug{list: func(b *shim, infos []driver.Info) []driver.Info { b.open.Add(1); return infos }}},
	{"has no name", withInfo(func(_ *shim, i *driver.Info) { i.Model = "" })},
	{"is simulated and does not say so", withInfo(func(_ *shim, i *driver.Info) { i.Model = "RTX" })},
	{"changes its description when opened", withInfo(func(b *shim, i *driver.Info) {
		if b.open.Load() > 0 {
			i.MaxAlign = 1 << 20
			i.Driver += fmt.Sprint(b.open.Load())
		}
	})},
	{"promises a larger allocation than it has memory", withInfo(func(_ *shim, i *driver.Info) { i.MaxAlloc = 2 * i.TotalMemory })},
	{"has more free memory than memory", bug{memInfo: func(_, total uint64) (uint64, uint64) { return total + 1, total }}},
	{"cannot be opened twice in a row", bug{
		openFails: func(b *shim) error {
			if b.wasClosed.Load() {
				return &driver.Error{Op: "open", Backend: "shim", Kind: driver.ErrDriver}
			}
			return nil
		},
		closeDevice: func(d *shimDevice) error { d.b.wasClosed.Store(true); return nil },
	}},
	{"never gives a context back", bug{closeDevice: func(d *shimDevice) error { d.b.open.Add(1); return nil }}},
	{"keeps its context for the next open", bug{
		closeDevice: func(d *shimDevice) error {
			if d.b.open.Load() == 0 {
				d.b.wasClosed.Store(true)
				d.b.open.Add(1)
			}
			return nil
		},
		openFails: func(b *shim) error {
			if b.wasClosed.Swap(false) {
				b.open.Add(-1)
			}
			return nil
		},
	}},
	{"closes all handles with one", bug{
		closeDevice: func(d *shimDevice) error {
			if d.b.open.Load() > 0 {
				d.b.wasClosed.Store(true)
			}
			return nil
		},
		copyOut: func(s *shimStream, dst unsafe.Pointer, src driver.Region) error {
			if s.d.b.wasClosed.Load() {
				return &driver.Error{Op: "copy out", Backend: "shim", Kind: driver.ErrDriver}
			}
			return s.real.CopyOut(dst, src)
		},
	}},

	// Allocation.
	{"hands out overlapping blocks", bug{alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		if last := d.last; kind == driver.KindDevice && last != nil && align == 0 && size+256 <= last.size {
			return &shimMemory{real: last.real, d: d, kind: kind, size: size, off: 256, borrowed: true}, nil
		}
		m, err := d.alloc(kind, size, align)
		if kind == driver.KindDevice && err == nil {
			d.last = m
		}
		return m, err
	}}},
	{"misaligns by one", bug{alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		m, err := d.alloc(kind, size+1, align)
		if err == nil {
			m.size, m.off = size, 1
		}
		return m, err
	}}},
	{"ignores explicit alignment", bug{alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		m, err := d.alloc(kind, size+256, max(align, 512))
		if err == nil {
			m.size, m.off = size, 256
		}
		return m, err
	}}},
	{"ignores the alignment of host memory without an address", bug{
		info: func(_ *shim, i driver.Info) driver.Info { i.Caps &^= driver.CapAddress; return i },
		alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
			if kind != driver.KindHost {
				return d.alloc(kind, size, align)
			}
			m, err := d.alloc(kind, size+256, max(align, 512))
			if err == nil {
				m.size, m.off = size, 256
			}
			return m, err
		},
	}},
	{"ignores the kind: device memory is host memory", bug{
		alloc: func(d *shimDevice, _ driver.Kind, size, align uint64) (*shimMemory, error) {
			return d.alloc(driver.KindHost, size, align)
		},
	}},
	{"shows the host a copy of host memory", bug{hostPointer: func(m *shimMemory) unsafe.Pointer {
		if m.kind == driver.KindDevice {
			return nil
		}
		if m.shadow == nil {
			m.shadow = make([]byte, m.size)
		}
		return unsafe.Pointer(&m.shadow[0])
	}}},
	{"never gives memory back", bug{free: func(m *shimMemory) error {
		if m.registered != nil {
			return m.real.Free()
		}
		return nil
	}}},
	{"gives nothing any more once it was out of memory", bug{alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		if d.b.sawShortage.Load() {
			return nil, &driver.Error{Op: "alloc", Backend: "shim", Device: 1, Kind: driver.ErrOutOfMemory}
		}
		m, err := d.alloc(kind, size, align)
		if errors.Is(err, driver.ErrOutOfMemory) {
			d.b.sawShortage.Store(true)
		}
		return m, err
	}}},
	{"calls a shortage an internal error", bug{alloc: func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		m, err := d.alloc(kind, size, align)
		if errors.Is(err, driver.ErrOutOfMemory) {
			err = &driver.Error{Op: "alloc", Backend: "shim", Device: 1, Kind: driver.ErrDriver}
		}
		return m, err
	}}},
	{"allocates half of what is asked for on streams", bug{allocAsync: func(s *shimStream, size, align uint64) (*shimMemory, error) {
		real, err := s.real.(driver.StreamAllocator).AllocAsync(size+1, align)
		if err != nil {
			return nil, err
		}
		return &shimMemory{real: real, d: s.d, kind: driver.KindDevice, size: size, off: 1}, nil
	}}},

	// Copies.
	{"copy drops the last byte", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		return some(dst.Len-1, func() error { return s.real.Copy(cut(dst, 1), cut(src, 1)) })
	}}},
	{"copy in drops the last byte", bug{copyIn: func(s *shimStream, dst driver.Region, src unsafe.Pointer) error {
		return some(dst.Len-1, func() error { return s.real.CopyIn(cut(dst, 1), src) })
	}}},
	{"copy out drops the last byte", bug{copyOut: func(s *shimStream, dst unsafe.Pointer, src driver.Region) error {
		return some(src.Len-1, func() error { return s.real.CopyOut(dst, cut(src, 1)) })
	}}},
	{"copy drops the last byte of odd lengths from 64 KiB on", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		if dst.Len > 64<<10 {
			return s.real.Copy(cut(dst, dst.Len%2), cut(src, src.Len%2))
		}
		return s.real.Copy(dst, src)
	}}},
	{"copy rounds its length up to words", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		n := -dst.Len & 3
		d, r := grown(dst, n), grown(src, n)
		d.Len = min(d.Len, r.Len)
		r.Len = d.Len
		return s.real.Copy(d, r)
	}}},
	{"copy ignores the source's offset", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		return s.real.Copy(dst, at(src, 0))
	}}},
	{"copy ignores the destination's offset", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		return s.real.Copy(at(dst, 0), src)
	}}},
	{"copy in rounds its offset down to words", bug{copyIn: func(s *shimStream, dst driver.Region, src unsafe.Pointer) error {
		return s.real.CopyIn(at(dst, dst.Off&^3), src)
	}}},
	{"copy goes the other way", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error { return s.real.Copy(src, dst) }}},
	{"copy out goes the other way", bug{copyOut: func(s *shimStream, dst unsafe.Pointer, src driver.Region) error {
		return s.real.CopyIn(src, dst)
	}}},
	{"copies to peers go nowhere", bug{copy: func(s *shimStream, dst, src driver.Region, foreign bool) error {
		if foreign {
			return nil
		}
		return s.real.Copy(dst, src)
	}}},
	{"copies at once, not in stream order", bug{copy: func(s *shimStream, dst, src driver.Region, _ bool) error {
		return errors.Join(s.d.aside().Copy(dst, src), s.d.aside().Sync())
	}}},
	{"copies out at once, not in stream order", bug{copyOut: func(s *shimStream, dst unsafe.Pointer, src driver.Region) error {
		return errors.Join(s.d.aside().CopyOut(dst, src), s.d.aside().Sync())
	}}},
	{"small copies overtake", bug{copyIn: func(s *shimStream, dst driver.Region, src unsafe.Pointer) error {
		if dst.Len <= 16 {
			return errors.Join(s.d.aside().CopyIn(dst, src), s.d.aside().Sync())
		}
		return s.real.CopyIn(dst, src)
	}}},
	{"copy in waits for the stream", bug{copyIn: func(s *shimStream, dst driver.Region, src unsafe.Pointer) error {
		return errors.Join(s.real.CopyIn(dst, src), s.real.Sync())
	}}},
	{"says that it reaches peers it cannot copy to", bug{copy: func(s *shimStream, dst, src driver.Region, foreign bool) error {
		if foreign {
			return &driver.Error{Op: "copy", Backend: "shim", Device: 1, Kind: driver.ErrWrongDevice}
		}
		return s.real.Copy(dst, src)
	}}},
	{"takes no peer's event", bug{wait: func(s *shimStream, e *shimEvent) error {
		if e.d != s.d {
			return nil
		}
		return s.real.Wait(e.real)
	}}},

	// Fills.
	{"fill ignores the offset", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error { return s.real.Fill(at(dst, 0), p) }}},
	{"fill repeats one byte of the pattern", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		return s.real.Fill(dst, driver.Pattern{Bits: p.Bits, Width: 1})
	}}},
	{"fill is one pattern short", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		return some(dst.Len-uint64(p.Width), func() error { return s.real.Fill(cut(dst, uint64(p.Width)), p) })
	}}},
	{"fill is one pattern long", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		r := grown(dst, uint64(p.Width))
		return s.real.Fill(cut(r, r.Len%uint64(p.Width)), p)
	}}},
	{"fill takes all bits of narrow patterns", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		if p.Width < 8 && dst.Len%8 == 0 && p.Bits>>(8*p.Width) != 0 {
			p.Width = 8
		}
		return s.real.Fill(dst, p)
	}}},
	{"fills at once, not in stream order", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		return errors.Join(s.d.aside().Fill(dst, p), s.d.aside().Sync())
	}}},

	// Streams and events.
	{"wait does nothing", bug{wait: func(*shimStream, *shimEvent) error { return nil }}},
	{"wait holds up the caller", bug{wait: func(_ *shimStream, e *shimEvent) error { return e.real.Sync() }}},
	{"a second record changes earlier waits", bug{wait: latest}},
	{"record captures too early", bug{liesAboutDone: true, record: func(s *shimStream, e *shimEvent) error {
		return s.d.aside().Record(e.real)
	}}},
	{"only the first record counts", bug{liesAboutDone: true, record: func(s *shimStream, e *shimEvent) error {
		if e.recorded.Swap(true) {
			return nil
		}
		return s.real.Record(e.real)
	}}},
	{"streams are always idle", bug{liesAboutDone: true, query: func(*shimStream) (bool, error) { return true, nil }}},
	{"events are always done", bug{liesAboutDone: true, eventQuery: func(*shimEvent) (bool, error) { return true, nil }}},
	{"sync returns at once", bug{liesAboutDone: true, sync: func(*shimStream) error { return nil }}},
	{"event sync returns at once", bug{liesAboutDone: true, eventSync: func(*shimEvent) error { return nil }}},
	{"gates are open from the start", bug{gate: func(*shimStream) (driver.Gate, error) { return openGate{}, nil }}},
	{"a gate shuts every stream of the device", bug{gate: func(s *shimStream) (driver.Gate, error) {
		s.d.b.mu.Lock()
		defer s.d.b.mu.Unlock()
		var all gates
		for _, o := range s.d.b.streams {
			g, err := o.(driver.Gater).Gate()
			if err != nil {
				return nil, err
			}
			all = append(all, g)
		}
		return all, nil
	}}},
	{"frees wait for every stream", bug{free: freeWhenIdle}},
	{"streams wait for each other", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		s.d.b.mu.Lock()
		streams := append([]driver.Stream(nil), s.d.b.streams...)
		s.d.b.mu.Unlock()
		for _, o := range streams {
			e, err := s.d.real.NewEvent(driver.EventOptions{})
			if err != nil {
				return err
			}
			if err := errors.Join(o.Record(e), s.real.Wait(e)); err != nil {
				return err
			}
		}
		return s.real.Fill(dst, p)
	}}},
	{"time runs backwards", bug{elapsed: func(d time.Duration, err error) (time.Duration, error) { return -d, err }}},
	{"time is in the wrong unit", bug{elapsed: func(d time.Duration, err error) (time.Duration, error) { return 1000 * d, err }}},
	{"time stands still", bug{elapsed: func(_ time.Duration, err error) (time.Duration, error) { return 0, err }}},
	{"an event that is not done has a time", bug{elapsed: func(d time.Duration, _ error) (time.Duration, error) { return d, nil }}},
	{"callbacks run at once", bug{call: func(_ *shimStream, fn func()) error { go fn(); return nil }}},
	{"callbacks are lost", bug{call: func(*shimStream, func()) error { return nil }}},
	{"callbacks come twice", bug{call: func(s *shimStream, fn func()) error {
		return s.real.(driver.Notifier).OnDone(func() { go fn(); fn() })
	}}},
	{"work waits for callbacks", bug{call: func(s *shimStream, fn func()) error {
		done := make(chan struct{})
		err := s.real.(driver.Notifier).OnDone(func() { defer close(done); fn() })
		if err != nil {
			return err
		}
		g, err := s.real.(driver.Gater).Gate()
		if err == nil {
			go func() { <-done; _ = g.Open() }()
		}
		return err
	}}},

	// Registered memory.
	{"registers a copy", bug{register: func(d *shimDevice, p unsafe.Pointer, size uint64) (*shimMemory, error) {
		m, err := d.alloc(driver.KindHost, size, 0)
		if err == nil {
			copy(unsafe.Slice((*byte)(m.real.HostPointer()), size), unsafe.Slice((*byte)(p), size))
		}
		return m, err
	}}},
	{"registers memory twice", bug{
		register: func(d *shimDevice, p unsafe.Pointer, size uint64) (*shimMemory, error) {
			real, err := d.real.(driver.Registerer).Register(p, size)
			if errors.Is(err, driver.ErrBusy) {
				m, err := d.alloc(driver.KindHost, size, 0)
				return m, err
			}
			if err != nil {
				return nil, err
			}
			return &shimMemory{real: real, d: d, kind: driver.KindHost, size: size}, nil
		},
	}},
	{"clears memory when it is unregistered", bug{free: func(m *shimMemory) error {
		if m.registered != nil {
			clear(unsafe.Slice((*byte)(m.registered), m.size))
		}
		return m.real.Free()
	}}},

	// Capabilities.
	{"has a capability bit without the ability", withInfo(func(_ *shim, i *driver.Info) { i.Caps |= driver.CapPrefetch })},
	{"copies to peers without the capability bit", withInfo(func(_ *shim, i *driver.Info) { i.Caps &^= driver.CapPeerCopy })},
	{"has a capability bit nobody knows", withInfo(func(_ *shim, i *driver.Info) { i.Caps |= 1 << 31 })},

	// Errors.
	{"errors lose the vendor's code", faulty(func(e *driver.Error) error { e.Vendor = driver.Vendor{}; return e })},
	{"errors lose their kind", faulty(func(e *driver.Error) error { e.Kind = nil; return e })},
	{"errors are bare", faulty(func(e *driver.Error) error { return errors.New(e.Vendor.Name) })},
	{"errors are lost", faulty(func(*driver.Error) error { return nil })},
	{"work that fails is said to have succeeded", bug{silent: true}},
	{"a lost device is an internal error", faulty(func(e *driver.Error) error { e.Kind = driver.ErrDriver; return e })},
	{"errors come back at every later call", bug{fault: func(b *shim, e *driver.Error) error { b.sticky = e; return e }}},
	{"maps a code to no kind", bug{codes: []driver.Error{vendorError(1, "SHIM_FAULT", nil)}}},
	{"gives a code no name", bug{codes: []driver.Error{vendorError(1, "", driver.ErrBusy)}}},
	{"gives one code two names", bug{codes: []driver.Error{
		vendorError(1, "SHIM_FAULT", driver.ErrBusy), vendorError(1, "SHIM_OTHER", driver.ErrBusy),
	}}},
	{"maps a shortage to an internal error", bug{codes: []driver.Error{
		vendorError(1, "SHIM_OUT_OF_MEMORY", driver.ErrDriver), vendorError(2, "SHIM_BUSY", driver.ErrBusy),
	}}},

	// What only shows above.
	{"copies from peers are a moment late", bug{copy: func(s *shimStream, dst, src driver.Region, foreign bool) error {
		if !foreign {
			return s.real.Copy(dst, src)
		}
		e, err := s.d.real.NewEvent(driver.EventOptions{})
		if err != nil {
			return err
		}
		side := s.d.aside()
		return errors.Join(s.real.Record(e), side.Wait(e), side.Copy(dst, src))
	}}},
	{"a call panics", bug{fill: func(s *shimStream, dst driver.Region, p driver.Pattern) error {
		if dst.Len == 1000 {
			panic("fill of 1000 bytes")
		}
		return s.real.Fill(dst, p)
	}}},
}

// throughBuffers are mutants that coherent buffers alone must notice too.
var throughBuffers = []string{
	"copy drops the last byte", "copy in drops the last byte", "copy out drops the last byte",
	"copy ignores the source's offset", "copy ignores the destination's offset", "copy out goes the other way",
	"copies to peers go nowhere", "copies out at once, not in stream order", "fill is one pattern short",
	"fill ignores the offset", "wait does nothing", "takes no peer's event", "record captures too early",
	"events are always done", "event sync returns at once", "gates are open from the start",
	"errors are lost", "work that fails is said to have succeeded",
}

// TestMutants runs the suite on backends that are broken on purpose, and fails for each that passes.
func TestMutants(t *testing.T) {
	if raceEnabled {
		t.Skip("backends that do not wait for their work race on purpose")
	}
	// Checks that fail leave things behind.
	previous := hal.SetLeakHandler(func(hal.Leak) {})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	// What fails without a bug as well kills nothing.
	sick := map[string]bool{}
	_, err := conformance.Execute(t.Context(), newShim(bug{}).harness(), func(r conformance.Result) {
		sick[r.Check.Name] = r.Outcome.Bad()
	})
	require.NoError(t, err)
	kill := func(m mutant, match string) *conformance.Result {
		h := newShim(m.bug).harness()
		h.Match = match
		h.Timeout = 30 * time.Second
		if hanging[m.name] {
			h.Timeout = 1500 * time.Millisecond
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var killer *conformance.Result
		_, _ = conformance.Execute(ctx, h, func(r conformance.Result) {
			if name := r.Check.Name; killer == nil && r.Outcome.Bad() && !sick[name] {
				killer = &r
				stop()
			}
		})
		if killer == nil {
			t.Errorf("%q survives %s", m.name, match)
			return nil
		}
		if hung := strings.HasPrefix(killer.Reason, "not done after"); hung != hanging[m.name] {
			t.Errorf("%q hangs: %t; %s: %s", m.name, hung, killer.Check.Name, killer.Reason)
		}
		return killer
	}
	checks := map[string]bool{}
	var table strings.Builder
	named := map[string]mutant{}
	for _, m := range mutants {
		require.NotContains(t, named, m.name)
		named[m.name] = m
		if k := kill(m, ""); k != nil {
			checks[k.Check.Name] = true
			fmt.Fprintf(&table, "%-56s %s\n", m.name, k.Check.Name)
		}
	}
	fmt.Fprintln(&table, "\nThrough buffers alone:")
	for _, name := range throughBuffers {
		require.Contains(t, named, name)
		if k := kill(named[name], "^Coherence/"); k != nil {
			checks[k.Check.Name] = true
			fmt.Fprintf(&table, "%-56s %s\n", name, k.Check.Name)
		}
	}
	t.Logf("%d mutants, killed by %d checks:\n%s", len(mutants), len(checks), table.String())
}
