package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
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

// callPanics leaves a call that never ended, for which closing the device waits as long as it may.
const callPanics = "a call panics"

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
func latest(s *hooked.Stream, e *hooked.Event) error {
	if done, _ := e.Event.Query(); done {
		return nil
	}
	g, err := s.PlainGate()
	if err != nil {
		return err
	}
	go func() {
		for {
			_ = e.Event.Sync()
			if done, _ := e.Event.Query(); done {
				break
			}
		}
		_ = g.Open()
	}()
	return nil
}

// shadows are bytes of peers' memory that a device keeps, to copy them only once.
type shadows struct {
	mu    sync.Mutex
	owner map[driver.Memory]*hooked.Device
	kept  map[driver.Region][]byte
}

func (h *shadows) drop(m driver.Memory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.kept {
		if r.Mem == m {
			delete(h.kept, r)
		}
	}
}

// pull copies from a peer, or from what is kept of its memory.
func (h *shadows) pull(s *hooked.Stream, dst, src driver.Region) error {
	h.mu.Lock()
	b, kept := h.kept[src]
	h.mu.Unlock()
	if kept {
		return s.Stream.CopyIn(dst, unsafe.Pointer(&b[0]))
	}
	idle, _ := s.Stream.Query()
	if err := s.Stream.Copy(dst, src); err != nil || !idle {
		return err
	}
	b = make([]byte, src.Len)
	if err := errors.Join(s.Stream.CopyOut(unsafe.Pointer(&b[0]), dst), s.Stream.Sync()); err != nil {
		return err
	}
	h.mu.Lock()
	h.kept[src] = b
	h.mu.Unlock()
	return nil
}

// keepsShadows is a bug: the device misses writes to memory of which it keeps a copy, if they are pushed there by another device, or
// all of them.
func keepsShadows(missesAll bool) bug {
	h := &shadows{owner: map[driver.Memory]*hooked.Device{}, kept: map[driver.Region][]byte{}}
	drop := func(m driver.Memory) {
		if !missesAll {
			h.drop(m)
		}
	}
	return hooks{
		Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
			m, err := d.PlainAlloc(kind, size, align)
			if err == nil {
				h.mu.Lock()
				h.owner[m.Memory] = d
				h.mu.Unlock()
			}
			return m, err
		},
		Copy: func(s *hooked.Stream, dst, src driver.Region, foreign bool) error {
			h.mu.Lock()
			pushed := h.owner[dst.Mem] != s.Device
			h.mu.Unlock()
			switch {
			case !foreign:
				drop(dst.Mem)
			case !pushed:
				drop(dst.Mem)
				return h.pull(s, dst, src)
			}
			return s.Stream.Copy(dst, src)
		},
		CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
			drop(dst.Mem)
			return s.Stream.CopyIn(dst, src)
		},
		Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
			drop(dst.Mem)
			return s.Stream.Fill(dst, p)
		},
	}
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
	return traits{info: func(b *shim, i driver.Info) driver.Info { change(b, &i); return i }}
}

func faulty(change func(e *driver.Error) error) bug {
	return traits{fault: func(_ *shim, e *driver.Error) error { return change(e) }}
}

// timed changes what is measured between events.
func timed(change func(time.Duration, error) (time.Duration, error)) bug {
	return hooks{Elapsed: func(e, since *hooked.Event) (time.Duration, error) { return change(e.PlainElapsed(since)) }}
}

var mutants = []mutant{
	// Enumeration.
	{"lists devices in changing order", traits{list: func(b *shim, infos []driver.Info) []driver.Info {
		if b.lists.Load()%2 == 0 && len(infos) > 2 {
			infos[1], infos[2] = infos[2], infos[1]
		}
		return infos
	}}},
	{"gives all devices one UUID", withInfo(func(_ *shim, i *driver.Info) { i.UUID = driver.UUID{1} })},
	{"numbers devices from one", withInfo(func(_ *shim, i *driver.Info) { i.Ordinal++ })},
	{"opens devices to list them", traits{list: func(b *shim, infos []driver.Info) []driver.Info { b.open.Add(1); return infos }}},
	{"has no name", withInfo(func(_ *shim, i *driver.Info) { i.Model = "" })},
	{"is simulated and does not say so", withInfo(func(_ *shim, i *driver.Info) { i.Model = "RTX" })},
	{"changes its description when opened", withInfo(func(b *shim, i *driver.Info) {
		if b.open.Load() > 0 {
			i.MaxAlign = 1 << 20
			i.Driver += fmt.Sprint(b.open.Load())
		}
	})},
	{"promises a larger allocation than it has memory", withInfo(func(_ *shim, i *driver.Info) { i.MaxAlloc = 2 * i.TotalMemory })},
	{"has more free memory than memory", hooks{MemInfo: func(d *hooked.Device) (free, total uint64, err error) {
		_, total, err = d.Device.MemInfo()
		return total + 1, total, err
	}}},
	{"cannot be opened twice in a row", traits{
		openFails: func(b *shim) error {
			if b.wasClosed.Load() {
				return &driver.Error{Op: "open", Backend: "shim", Kind: driver.ErrDriver}
			}
			return nil
		},
		closes: func(b *shim) { b.wasClosed.Store(true) },
	}},
	{"never gives a context back", traits{closes: func(b *shim) { b.open.Add(1) }}},
	{"keeps its context for the next open", traits{
		closes: func(b *shim) {
			if b.open.Load() == 0 {
				b.wasClosed.Store(true)
				b.open.Add(1)
			}
		},
		openFails: func(b *shim) error {
			if b.wasClosed.Swap(false) {
				b.open.Add(-1)
			}
			return nil
		},
	}},
	{"closes all handles with one", bugs{
		traits{closes: func(b *shim) {
			if b.open.Load() > 0 {
				b.wasClosed.Store(true)
			}
		}},
		hooks{CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
			if own(s.Device).b.wasClosed.Load() {
				return &driver.Error{Op: "copy out", Backend: "shim", Kind: driver.ErrDriver}
			}
			return s.Stream.CopyOut(dst, src)
		}},
	}},

	// Allocation.
	{"hands out overlapping blocks", hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		if last := own(d).last; kind == driver.KindDevice && last != nil && align == 0 && size+256 <= last.Bytes {
			return &hooked.Memory{Memory: last.Memory, Device: d, Kind: kind, Bytes: size, Off: 256, Lent: true}, nil
		}
		m, err := d.PlainAlloc(kind, size, align)
		if kind == driver.KindDevice && err == nil {
			own(d).last = m
		}
		return m, err
	}}},
	{"misaligns by one", hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(kind, size+1, align)
		if err == nil {
			m.Bytes, m.Off = size, 1
		}
		return m, err
	}}},
	{"ignores explicit alignment", hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(kind, size+256, max(align, 512))
		if err == nil {
			m.Bytes, m.Off = size, 256
		}
		return m, err
	}}},
	{"ignores the alignment of host memory without an address", bugs{
		withInfo(func(_ *shim, i *driver.Info) { i.Caps &^= driver.CapAddress }),
		hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
			if kind != driver.KindHost {
				return d.PlainAlloc(kind, size, align)
			}
			m, err := d.PlainAlloc(kind, size+256, max(align, 512))
			if err == nil {
				m.Bytes, m.Off = size, 256
			}
			return m, err
		}},
	}},
	{"ignores the kind: device memory is host memory", hooks{
		Alloc: func(d *hooked.Device, _ driver.Kind, size, align uint64) (*hooked.Memory, error) {
			return d.PlainAlloc(driver.KindHost, size, align)
		},
	}},
	{"shows the host a copy of host memory", hooks{HostPointer: func(m *hooked.Memory) unsafe.Pointer {
		if m.Kind == driver.KindDevice {
			return nil
		}
		if shown(m).shadow == nil {
			shown(m).shadow = make([]byte, m.Bytes)
		}
		return unsafe.Pointer(&shown(m).shadow[0])
	}}},
	{"never gives memory back", hooks{Free: func(m *hooked.Memory) error {
		if shown(m).registered != nil {
			return m.Memory.Free()
		}
		return nil
	}}},
	{"gives nothing any more once it was out of memory", hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		if own(d).b.sawShortage.Load() {
			return nil, &driver.Error{Op: "alloc", Backend: "shim", Device: 1, Kind: driver.ErrOutOfMemory}
		}
		m, err := d.PlainAlloc(kind, size, align)
		if errors.Is(err, driver.ErrOutOfMemory) {
			own(d).b.sawShortage.Store(true)
		}
		return m, err
	}}},
	{"calls a shortage an internal error", hooks{Alloc: func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(kind, size, align)
		if errors.Is(err, driver.ErrOutOfMemory) {
			err = &driver.Error{Op: "alloc", Backend: "shim", Device: 1, Kind: driver.ErrDriver}
		}
		return m, err
	}}},
	{"allocates half of what is asked for on streams", hooks{AllocAsync: func(s *hooked.Stream, size, align uint64) (*hooked.Memory, error) {
		m, err := s.PlainAllocAsync(size+1, align)
		if err == nil {
			m.Bytes, m.Off = size, 1
		}
		return m, err
	}}},

	// Copies.
	{"copy drops the last byte", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		return some(dst.Len-1, func() error { return s.Stream.Copy(cut(dst, 1), cut(src, 1)) })
	}}},
	{"copy in drops the last byte", hooks{CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
		return some(dst.Len-1, func() error { return s.Stream.CopyIn(cut(dst, 1), src) })
	}}},
	{"copy out drops the last byte", hooks{CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
		return some(src.Len-1, func() error { return s.Stream.CopyOut(dst, cut(src, 1)) })
	}}},
	{"copy drops the last byte of odd lengths from 64 KiB on", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		if dst.Len > 64<<10 {
			return s.Stream.Copy(cut(dst, dst.Len%2), cut(src, src.Len%2))
		}
		return s.Stream.Copy(dst, src)
	}}},
	{"copy rounds its length up to words", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		n := -dst.Len & 3
		d, r := grown(dst, n), grown(src, n)
		d.Len = min(d.Len, r.Len)
		r.Len = d.Len
		return s.Stream.Copy(d, r)
	}}},
	{"copy ignores the source's offset", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		return s.Stream.Copy(dst, at(src, 0))
	}}},
	{"copy ignores the destination's offset", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		return s.Stream.Copy(at(dst, 0), src)
	}}},
	{"copy in rounds its offset down to words", hooks{CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
		return s.Stream.CopyIn(at(dst, dst.Off&^3), src)
	}}},
	{"copy goes the other way", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error { return s.Stream.Copy(src, dst) }}},
	{"copy out goes the other way", hooks{CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
		return s.Stream.CopyIn(src, dst)
	}}},
	{"copies to peers go nowhere", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, foreign bool) error {
		if foreign {
			return nil
		}
		return s.Stream.Copy(dst, src)
	}}},
	{"copies at once, not in stream order", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
		return errors.Join(aside(s).Copy(dst, src), aside(s).Sync())
	}}},
	{"copies out at once, not in stream order", hooks{CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
		return errors.Join(aside(s).CopyOut(dst, src), aside(s).Sync())
	}}},
	{"small copies overtake", hooks{CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
		if dst.Len <= 16 {
			return errors.Join(aside(s).CopyIn(dst, src), aside(s).Sync())
		}
		return s.Stream.CopyIn(dst, src)
	}}},
	{"copy in waits for the stream", hooks{CopyIn: func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
		return errors.Join(s.Stream.CopyIn(dst, src), s.Stream.Sync())
	}}},
	{"says that it reaches peers it cannot copy to", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, foreign bool) error {
		if foreign {
			return &driver.Error{Op: "copy", Backend: "shim", Device: 1, Kind: driver.ErrWrongDevice}
		}
		return s.Stream.Copy(dst, src)
	}}},
	{"keeps a peer's memory, and misses what another device pushes there", keepsShadows(false)},
	{"keeps a peer's memory for ever", keepsShadows(true)},
	{"takes no peer's event", hooks{Wait: func(s *hooked.Stream, e *hooked.Event) error {
		if e.Device != s.Device {
			return nil
		}
		return s.Stream.Wait(e.Event)
	}}},

	// Fills.
	{"fill ignores the offset", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error { return s.Stream.Fill(at(dst, 0), p) }}},
	{"fill repeats one byte of the pattern", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		return s.Stream.Fill(dst, driver.Pattern{Bits: p.Bits, Width: 1})
	}}},
	{"fill is one pattern short", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		return some(dst.Len-uint64(p.Width), func() error { return s.Stream.Fill(cut(dst, uint64(p.Width)), p) })
	}}},
	{"fill is one pattern long", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		r := grown(dst, uint64(p.Width))
		return s.Stream.Fill(cut(r, r.Len%uint64(p.Width)), p)
	}}},
	{"fill takes all bits of narrow patterns", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		if p.Width < 8 && dst.Len%8 == 0 && p.Bits>>(8*p.Width) != 0 {
			p.Width = 8
		}
		return s.Stream.Fill(dst, p)
	}}},
	{"fills at once, not in stream order", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		return errors.Join(aside(s).Fill(dst, p), aside(s).Sync())
	}}},

	// Streams and events.
	{"wait does nothing", hooks{Wait: func(*hooked.Stream, *hooked.Event) error { return nil }}},
	{"wait holds up the caller", hooks{Wait: func(_ *hooked.Stream, e *hooked.Event) error { return e.Event.Sync() }}},
	{"a second record changes earlier waits", hooks{Wait: latest}},
	{"record captures too early", bugs{traits{liesAboutDone: true}, hooks{Record: func(s *hooked.Stream, e *hooked.Event) error {
		return aside(s).Record(e.Event)
	}}}},
	{"only the first record counts", bugs{traits{liesAboutDone: true}, hooks{Record: func(s *hooked.Stream, e *hooked.Event) error {
		if e.Data.(*shimEvent).recorded.Swap(true) {
			return nil
		}
		return s.Stream.Record(e.Event)
	}}}},
	{"streams are always idle", bugs{traits{liesAboutDone: true}, hooks{Query: func(*hooked.Stream) (bool, error) { return true, nil }}}},
	{"events are always done", bugs{traits{liesAboutDone: true}, hooks{QueryEvent: func(*hooked.Event) (bool, error) { return true, nil }}}},
	{"sync returns at once", bugs{traits{liesAboutDone: true}, hooks{Sync: func(*hooked.Stream) error { return nil }}}},
	{"event sync returns at once", bugs{traits{liesAboutDone: true}, hooks{SyncEvent: func(*hooked.Event) error { return nil }}}},
	{"gates are open from the start", hooks{Gate: func(*hooked.Stream) (driver.Gate, error) { return openGate{}, nil }}},
	{"a gate shuts every stream of the device", hooks{Gate: func(s *hooked.Stream) (driver.Gate, error) {
		var all gates
		for _, o := range own(s.Device).b.all() {
			g, err := o.(driver.Gater).Gate()
			if err != nil {
				return nil, err
			}
			all = append(all, g)
		}
		return all, nil
	}}},
	{"frees wait for every stream", hooks{Free: freeWhenIdle}},
	{"streams wait for each other", hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		for _, o := range own(s.Device).b.all() {
			e, err := s.Device.Device.NewEvent(driver.EventOptions{})
			if err != nil {
				return err
			}
			if err := errors.Join(o.Record(e), s.Stream.Wait(e)); err != nil {
				return err
			}
		}
		return s.Stream.Fill(dst, p)
	}}},
	{"time runs backwards", timed(func(d time.Duration, err error) (time.Duration, error) { return -d, err })},
	{"time is in the wrong unit", timed(func(d time.Duration, err error) (time.Duration, error) { return 1000 * d, err })},
	{"time stands still", timed(func(_ time.Duration, err error) (time.Duration, error) { return 0, err })},
	{"an event that is not done has a time", timed(func(d time.Duration, _ error) (time.Duration, error) { return d, nil })},
	{"callbacks run at once", hooks{OnDone: func(_ *hooked.Stream, fn func()) error { go fn(); return nil }}},
	{"callbacks are lost", hooks{OnDone: func(*hooked.Stream, func()) error { return nil }}},
	{"callbacks come twice", hooks{OnDone: func(s *hooked.Stream, fn func()) error {
		return s.PlainOnDone(func() { go fn(); fn() })
	}}},
	{"work waits for callbacks", hooks{OnDone: func(s *hooked.Stream, fn func()) error {
		done := make(chan struct{})
		err := s.PlainOnDone(func() { defer close(done); fn() })
		if err != nil {
			return err
		}
		g, err := s.PlainGate()
		if err == nil {
			go func() { <-done; _ = g.Open() }()
		}
		return err
	}}},

	// Registered memory.
	{"registers a copy", hooks{Register: func(d *hooked.Device, p unsafe.Pointer, size uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(driver.KindHost, size, 0)
		if err == nil {
			copy(unsafe.Slice((*byte)(m.Memory.HostPointer()), size), unsafe.Slice((*byte)(p), size))
		}
		return m, err
	}}},
	{"registers memory twice", hooks{
		Register: func(d *hooked.Device, p unsafe.Pointer, size uint64) (*hooked.Memory, error) {
			m, err := d.PlainRegister(p, size)
			if errors.Is(err, driver.ErrBusy) {
				return d.PlainAlloc(driver.KindHost, size, 0)
			}
			return m, err
		},
	}},
	{"clears memory when it is unregistered", hooks{Free: func(m *hooked.Memory) error {
		if shown(m).registered != nil {
			clear(unsafe.Slice((*byte)(shown(m).registered), m.Bytes))
		}
		return m.Memory.Free()
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
	{"work that fails is said to have succeeded", traits{silent: true}},
	{"a lost device is an internal error", faulty(func(e *driver.Error) error { e.Kind = driver.ErrDriver; return e })},
	{"errors come back at every later call", traits{fault: func(b *shim, e *driver.Error) error { b.sticky = e; return e }}},
	{"maps a code to no kind", traits{codes: []driver.Error{vendorError(1, "SHIM_FAULT", nil)}}},
	{"gives a code no name", traits{codes: []driver.Error{vendorError(1, "", driver.ErrBusy)}}},
	{"gives one code two names", traits{codes: []driver.Error{
		vendorError(1, "SHIM_FAULT", driver.ErrBusy), vendorError(1, "SHIM_OTHER", driver.ErrBusy),
	}}},
	{"maps a shortage to an internal error", traits{codes: []driver.Error{
		vendorError(1, "SHIM_OUT_OF_MEMORY", driver.ErrDriver), vendorError(2, "SHIM_BUSY", driver.ErrBusy),
	}}},

	// What only shows above.
	{"copies from peers are a moment late", hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, foreign bool) error {
		if !foreign {
			return s.Stream.Copy(dst, src)
		}
		e, err := s.Device.Device.NewEvent(driver.EventOptions{})
		if err != nil {
			return err
		}
		side := aside(s)
		return errors.Join(s.Stream.Record(e), side.Wait(e), side.Copy(dst, src))
	}}},
	{callPanics, hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		if dst.Len == 1000 {
			panic("fill of 1000 bytes")
		}
		return s.Stream.Fill(dst, p)
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

// throughPools are mutants that pools alone must notice too.
var throughPools = []string{
	"copy out drops the last byte", "copy in drops the last byte", "fill ignores the offset", "fill is one pattern short", "fill is one pattern long",
	"fills at once, not in stream order", "copies out at once, not in stream order", "wait does nothing", "record captures too early",
	"events are always done", "gates are open from the start", "never gives memory back", "streams are always idle",
	"misaligns by one",
}

type alone struct{ name, what, match string }

// through lists the mutants that one part of the suite must notice alone.
func through() (all []alone) {
	for _, name := range throughBuffers {
		all = append(all, alone{name, "buffers", "^Coherence/"})
	}
	for _, name := range throughPools {
		all = append(all, alone{name, "pools", "^Pools/"})
	}
	return all
}

// mutantParts is the number of processes that share the mutants: most of the time a check waits, and some look at all that the process has.
const mutantParts = 4

// TestMutants runs the suite on backends that are broken on purpose, and fails for each that passes.
func TestMutants(t *testing.T) {
	if raceEnabled {
		t.Skip("backends that do not wait for their work race on purpose")
	}
	const variable = "HALYARD_TEST_MUTANTS"
	if part := os.Getenv(variable); part != "" {
		killMutants(t, int(part[0]-'0'), strings.Fields(part)[1:])
		return
	}
	// What fails without a bug as well kills nothing.
	var sick []string
	_, err := conformance.Execute(t.Context(), newShim(nil).harness(), func(r conformance.Result) {
		if r.Outcome.Bad() {
			sick = append(sick, r.Check.Name)
		}
	})
	require.NoError(t, err)
	said := make([]string, mutantParts)
	var wg sync.WaitGroup
	for i := range mutantParts {
		wg.Go(func() {
			var out []byte
			var err error
			// A backend that does not wait for its work may touch memory that is freed. Where that faults, once in many runs, the part begins again.
			for range 3 {
				child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMutants$", "-test.v", "-test.timeout", "5m")
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", variable, i, strings.Join(sick, " ")))
				if out, err = child.CombinedOutput(); !strings.Contains(string(out), "unexpected fault address") {
					break
				}
			}
			said[i] = string(out)
			if err != nil || !strings.Contains(said[i], "--- PASS: TestMutants") {
				t.Errorf("part %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	killed := 0
	for _, out := range said {
		for _, line := range strings.Split(out, "\n") {
			if strings.Contains(line, killedBy) {
				killed++
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	require.Equal(t, len(mutants)+len(through()), killed, "mutants that were killed")
}

// killedBy stands in a line for each mutant.
const killedBy = " killed by "

// slow are the checks that take longest, more than all others together. They come last here.
var slow = []string{"Copy/Large", "Copy/FarOffsets", "Copy/LengthsAroundPowersOfTwo", "Lifetime/ClosedObjectsAreForgotten",
	"Lifetime/ClosedMemoryLeavesTheProcess", "Lifetime/GoSliceMovesOrStays", "Pools/TrimGivesBack"}

// killMutants kills every so many-th mutant, by checks that are not sick.
func killMutants(t *testing.T, part int, sick []string) {
	// Checks that fail leave things behind.
	previous := hal.SetLeakHandler(func(hal.Leak) {})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	killer := func(m mutant, match string, left ...string) (killer *conformance.Result) {
		h := newShim(m.bug).harness()
		h.Match = match
		for _, name := range left {
			h.Exclusions = append(h.Exclusions, conformance.Exclusion{Check: name, Kind: conformance.Unsupported, Reason: "slow"})
		}
		h.Timeout = 30 * time.Second
		if hanging[m.name] || m.name == callPanics {
			h.Timeout = 3 * time.Second
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		_, _ = conformance.Execute(ctx, h, func(r conformance.Result) {
			if killer == nil && r.Outcome.Bad() && !slices.Contains(sick, r.Check.Name) {
				killer = &r
				stop()
			}
		})
		return killer
	}
	kill := func(m mutant, match string) *conformance.Result {
		var killed *conformance.Result
		if match == "" {
			if killed = killer(m, "", slow...); killed == nil {
				killed = killer(m, "^("+strings.Join(slow, "|")+")$")
			}
		} else {
			killed = killer(m, match)
		}
		if killed == nil {
			t.Errorf("%q survives %s", m.name, match)
			return nil
		}
		if hung := strings.HasPrefix(killed.Reason, "not done after"); hung != hanging[m.name] {
			t.Errorf("%q hangs: %t; %s: %s", m.name, hung, killed.Check.Name, killed.Reason)
		}
		return killed
	}
	named := map[string]mutant{}
	for i, m := range mutants {
		require.NotContains(t, named, m.name)
		named[m.name] = m
		if i%mutantParts != part {
			continue
		}
		if k := kill(m, ""); k != nil {
			t.Logf("%-56s%s%s", m.name, killedBy, k.Check.Name)
		}
	}
	for i, c := range through() {
		require.Contains(t, named, c.name)
		if i%mutantParts != part {
			continue
		}
		if k := kill(named[c.name], c.match); k != nil {
			t.Logf("%-56s%s%s, through %s alone", c.name, killedBy, k.Check.Name, c.what)
		}
	}
}
