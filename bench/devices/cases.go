package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/peer"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// A family is the measurements of one operation, at one size or at several.
type family struct {
	name  string   // "copy-in/pageable-device"
	to    string   // the other device of copies between two, or ""
	sizes []uint64 // bytes; a single 0 where there is no size
	about string   // in a few words

	build builder
}

// builder prepares for measurements up to a size, and adds closers for what it makes.
type builder func(c *closers, s, to *site, most uint64) *fixture

// open calls build. If that fails, open undoes the steps that build has added closers for.
func (f *family) open(s, to *site, most uint64) (fix *fixture, err error) {
	c := &closers{}
	if err := frame.Do(func() { fix = f.build(c, s, to, most) }); err != nil {
		return nil, errors.Join(err, c.close())
	}
	fix.close = c.close
	return fix, nil
}

// closers are functions that undo steps. close calls them, last first.
type closers []func() error

func (c *closers) add(fn func() error) { *c = append(*c, fn) }

func (c *closers) close() error {
	var errs []error
	for _, fn := range slices.Backward(*c) {
		errs = append(errs, fn())
	}
	return errors.Join(errs...)
}

// sizeName returns a size as a part of a measurement's name.
func sizeName(n uint64) string { return strings.ReplaceAll(bytesText(n), " ", "") }

// fullName returns the name that -only is matched against.
func (f *family) fullName(size uint64) string {
	name := f.name
	if f.to != "" {
		name += "-" + f.to
	}
	if size > 0 {
		name += "/" + sizeName(size)
	}
	return name
}

// fixture is a family that is ready to be measured.
type fixture struct {
	calls string // names of the calls of the raw side
	at    func(size uint64) (ours, raw timing.Side)
	close func() error

	// prove runs the call of one side and checks its effect. It may be nil.
	prove func(size uint64, op func() error) error
}

// proof checks a call: before the call it fills a source of n bytes and overwrites the destination, and afterwards it
// compares them. Nil memory stands for the host's slice.
type proof struct {
	to, from       *hal.Memory
	toDev, fromDev *hal.Device
	host           []byte
	fill           bool // the pattern is the only source

	runs byte
}

func (p *proof) prove(n uint64, op func() error) error {
	p.runs++
	want, got := make([]byte, n), make([]byte, n)
	for i := range want {
		want[i] = byte(i) ^ byte(i>>8) + p.runs
		got[i] = ^want[i]
	}
	return frame.Do(func() {
		switch {
		case p.fill:
			for i := range want {
				want[i] = byte(uint32(pattern) >> (i % 4 * 8))
			}
		case p.from == nil:
			copy(p.host, want)
		default:
			frame.Must(p.fromDev.Write(background, p.from.Region(0, n), want))
		}
		if p.to == nil {
			copy(p.host, got)
			frame.Must(op())
			copy(got, p.host)
		} else {
			frame.Must(p.toDev.Write(background, p.to.Region(0, n), got))
			frame.Must(op())
			frame.Must(p.toDev.Read(background, got, p.to.Region(0, n)))
		}
		if !bytes.Equal(got, want) {
			frame.Must(errors.New("the destination does not have the bytes of the source"))
		}
	})
}

// background is the context of everything that is timed. With a context that can end, each wait would cost a goroutine.
var background = context.Background()

// kindNames are the kinds of memory by their names in measurements.
var kindNames = map[string]hal.Kind{"device": hal.KindDevice, "pinned": hal.KindHost, "shared": hal.KindShared}

// ladder returns the sizes from 4 bytes to most. Each is factor times the one before, and from 1 MiB on 4 times; the last is most.
func ladder(most uint64, factor uint64) []uint64 {
	sizes := []uint64{}
	for n := uint64(4); n <= most; n *= factor {
		sizes = append(sizes, n)
		if n >= 1<<20 {
			factor = 4
		}
	}
	if last := sizes[len(sizes)-1]; last != most {
		sizes = append(sizes, most)
	}
	return sizes
}

// upTo leaves out the sizes beyond most.
func upTo(most uint64, sizes ...uint64) []uint64 {
	return slices.DeleteFunc(sizes, func(n uint64) bool { return n > most })
}

// familiesOf returns the measurements of one device among others.
func familiesOf(info hal.Info, others []hal.Info, most uint64) []*family {
	all := ladder(most, 16)
	few := upTo(most, 4, 16<<10, 256<<10, 4<<20, 64<<20)
	blocks := upTo(most, 4<<10, 1<<20, 64<<20)
	shared := info.Caps.Has(hal.CapShared)
	none := []uint64{0}
	var list []*family
	add := func(name string, sizes []uint64, about string, build builder) {
		if len(sizes) > 0 {
			list = append(list, &family{name: name, sizes: sizes, about: about, build: build})
		}
	}
	for _, c := range []struct{ group, src, dst string }{
		{"copy-in", "pageable", "device"}, {"copy-in", "pinned", "device"}, {"copy-in", "pageable", "shared"},
		{"copy-out", "device", "pageable"}, {"copy-out", "device", "pinned"}, {"copy-out", "shared", "pageable"},
		{"copy", "device", "device"},
	} {
		if (c.src == "shared" || c.dst == "shared") && !shared {
			continue
		}
		add(c.group+"/"+c.src+"-"+c.dst, all, "a copy, and the wait for it", openCopy(c.src, c.dst))
	}
	for _, kind := range []string{"device", "pinned", "shared"} {
		if kind != "shared" || shared {
			add("fill/"+kind, all, "a fill with a 32-bit pattern, and the wait for it", openFill(kind))
		}
	}
	add("enqueue/copy-in", upTo(most, 4, 4<<10), "one of 64 copies from pageable memory with one wait", openEnqueue)
	add("sync/idle", none, "a wait for a stream that has nothing to do", openSync)
	add("event/record", none, "recording an event on an idle stream", openRecord)
	add("event/record-wait", none, "a 4-byte fill, an event after it, and a second stream that waits for the event; one of 64 with one wait", openRecordWait)
	add("alloc/hal", blocks, "Device.Alloc and Close", openAlloc(allocHAL))
	add("alloc/pool", blocks, "Pool.Alloc and Free", openAlloc(allocPool))
	add("alloc/buffer", blocks, "buffer.New, Acquire to overwrite, Release and Close", openAlloc(allocBuffer))
	add("buffer/acquire-read", none, "Acquire and Release of a current replica to read", openAcquire(coherence.Read))
	add("buffer/acquire-readwrite", none, "Acquire and Release of a current replica to read and write", openAcquire(coherence.ReadWrite))
	add("buffer/view", none, "View of a current host replica", openView)
	if info.Caps.Has(hal.CapKernels) {
		add("launch/hal", none, "Stream.Launch of a kernel with 6 arguments; one of 64 with one wait", openLaunch)
		add("launch/kernel", none, "Launch of package kernel on 5 buffers; one of 64 with one wait", openKernelLaunch)
	}
	if !info.SharesHostMemory {
		add("buffer/round-trip", few, "Acquire to read and write after Update: there and back", openRoundTrip)
	}
	for _, other := range others {
		if other.Name() != info.Name() {
			list = append(list, &family{name: "across/" + info.Name(), to: other.Name(), sizes: few,
				about: "hal.CopyPeer to another device, and the wait for it", build: openAcross})
		}
	}
	return list
}

// memory allocates n bytes and touches all of them.
func (s *site) memory(c *closers, kind string, n uint64) *hal.Memory {
	m := frame.Get(s.dev.Alloc(kindNames[kind], n, 0))
	c.add(m.Close)
	frame.Must(s.stream.Fill(m.All(), hal.Pattern8(0x5a)))
	frame.Must(s.stream.Sync(background))
	return m
}

// pageable returns Go memory whose pages have all been touched.
func pageable(n uint64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// then returns a function that makes one call, and if that succeeds the other.
func then(first, second func() error) func() error {
	return func() error {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
}

// sync waits for the stream.
func (s *site) sync() error { return s.stream.Sync(background) }

func openCopy(src, dst string) builder {
	return func(c *closers, s, _ *site, most uint64) *fixture {
		var from, to *hal.Memory
		var host []byte
		if src == "pageable" || dst == "pageable" {
			host = pageable(most)
		}
		if src != "pageable" {
			from = s.memory(c, src, most)
		}
		if dst != "pageable" {
			to = s.memory(c, dst, most)
		}
		op := peer.Copy
		switch {
		case src == "pageable" || src == "pinned" && from.HostPointer() != nil:
			op = peer.CopyIn
		case dst == "pageable" || dst == "pinned" && to.HostPointer() != nil:
			op = peer.CopyOut
		}
		p := &proof{to: to, from: from, toDev: s.dev, fromDev: s.dev, host: host}
		return &fixture{calls: s.calls(op, peer.Sync), prove: p.prove, at: func(n uint64) (ours, raw timing.Side) {
			var call func() error
			switch {
			case from == nil:
				region, b := to.Region(0, n), host[:n]
				call = func() error { return s.stream.CopyIn(region, b) }
			case to == nil:
				region, b := from.Region(0, n), host[:n]
				call = func() error { return s.stream.CopyOut(b, region) }
			default:
				d, f := to.Region(0, n), from.Region(0, n)
				call = func() error { return s.stream.Copy(d, f) }
			}
			return timing.Side{Op: then(call, s.sync)}, s.beside(func(p peer.Peer) func() error {
				return then(rawCopy(p, op, to, from, host, n), p.Sync)
			})
		}}
	}
}

// rawCopy returns the peer's copy between memories; nil stands for the host's memory.
func rawCopy(p peer.Peer, op peer.Op, to, from *hal.Memory, host []byte, n uint64) func() error {
	hostSide := func(m *hal.Memory) unsafe.Pointer {
		if m == nil {
			return at(host)
		}
		return m.HostPointer()
	}
	switch op {
	case peer.CopyIn:
		d, f := to.Handle(), hostSide(from)
		return func() error { return p.CopyIn(d, f, n) }
	case peer.CopyOut:
		d, f := hostSide(to), from.Handle()
		return func() error { return p.CopyOut(d, f, n) }
	}
	d, f := to.Handle(), from.Handle()
	return func() error { return p.Copy(d, f, n) }
}

// pattern is the pattern of fills: a fill with one byte cannot write it.
const pattern = 0x01020304

func openFill(kind string) builder {
	return func(c *closers, s, _ *site, most uint64) *fixture {
		m := s.memory(c, kind, most)
		p := &proof{to: m, toDev: s.dev, fill: true}
		return &fixture{calls: s.calls(peer.Fill, peer.Sync), prove: p.prove, at: func(n uint64) (ours, raw timing.Side) {
			region, handle := m.Region(0, n), m.Handle()
			return timing.Side{Op: then(func() error { return s.stream.Fill(region, hal.Pattern32(pattern)) }, s.sync)},
				s.beside(func(p peer.Peer) func() error {
					return then(func() error { return p.Fill(handle, pattern, n) }, p.Sync)
				})
		}}
	}
}

// crowd is how many calls are enqueued between two waits where enqueueing is measured.
const crowd = 64

// repeated returns a function that makes a call crowd times.
func repeated(call func() error) func() error {
	return func() error {
		for range crowd {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}
}

func openEnqueue(c *closers, s, _ *site, most uint64) *fixture {
	m, host := s.memory(c, "device", most), pageable(most)
	p := &proof{to: m, toDev: s.dev, host: host}
	return &fixture{calls: s.calls(peer.CopyIn), prove: p.prove, at: func(n uint64) (ours, raw timing.Side) {
		region, handle, b := m.Region(0, n), m.Handle(), host[:n]
		ours = timing.Side{Per: crowd, Op: then(repeated(func() error { return s.stream.CopyIn(region, b) }), s.sync)}
		raw = s.beside(func(p peer.Peer) func() error {
			return then(repeated(func() error { return p.CopyIn(handle, at(b), n) }), p.Sync)
		})
		raw.Per = crowd
		return ours, raw
	}}
}

func openSync(_ *closers, s, _ *site, _ uint64) *fixture {
	return &fixture{calls: s.calls(peer.Sync), at: func(uint64) (ours, raw timing.Side) {
		ours = timing.Side{Op: s.sync}
		if s.calls(peer.Sync) != "" {
			raw = s.beside(func(p peer.Peer) func() error { return p.Sync })
		}
		return ours, raw
	}}
}

// recorder returns a function that records one event again and again, as a program's loop does.
func (s *site) recorder(c *closers) func() (*hal.Event, error) {
	e := frame.Get(s.stream.Record())
	c.add(func() error { return e.Close() })
	return func() (*hal.Event, error) {
		if layer.RecordAgain(s.stream, e) {
			return e, nil
		}
		if err := e.Close(); err != nil {
			return nil, err
		}
		var err error
		e, err = s.stream.Record()
		return e, err
	}
}

func openRecord(c *closers, s, _ *site, _ uint64) *fixture {
	record := s.recorder(c)
	return &fixture{calls: s.calls(peer.Record), at: func(uint64) (ours, raw timing.Side) {
		return timing.Side{Op: func() error { _, err := record(); return err }, Leave: s.drain},
			s.beside(func(p peer.Peer) func() error { return p.Record })
	}}
}

// drain waits for both streams.
func (s *site) drain() error {
	return errors.Join(s.stream.Sync(background), s.other.Sync(background))
}

func openRecordWait(c *closers, s, _ *site, _ uint64) *fixture {
	m, record := s.memory(c, "device", 64), s.recorder(c)
	region, handle := m.Region(0, 4), m.Handle()
	return &fixture{calls: s.calls(peer.Fill, peer.RecordWait), at: func(uint64) (ours, raw timing.Side) {
		ours = timing.Side{Per: crowd, Leave: s.drain, Op: then(repeated(func() error {
			if err := s.stream.Fill(region, hal.Pattern32(pattern)); err != nil {
				return err
			}
			e, err := record()
			if err != nil {
				return err
			}
			return s.other.WaitEvent(e)
		}), func() error { return s.other.Sync(background) })}
		raw = s.beside(func(p peer.Peer) func() error {
			return then(repeated(then(func() error { return p.Fill(handle, pattern, 4) }, p.RecordWait)), p.Sync)
		})
		raw.Per = crowd
		return ours, raw
	}}
}

// openAlloc is for allocations of n bytes, by the function that ours returns.
func openAlloc(ours func(s *site, c *closers) func(n uint64) error) builder {
	return func(c *closers, s, _ *site, _ uint64) *fixture {
		once := ours(s, c)
		return &fixture{calls: s.calls(peer.AllocFree), at: func(n uint64) (timing.Side, timing.Side) {
			return timing.Side{Op: func() error { return once(n) }, Leave: s.drain},
				s.beside(func(p peer.Peer) func() error { return func() error { return p.AllocFree(n) } })
		}}
	}
}

func allocHAL(s *site, _ *closers) func(n uint64) error {
	return func(n uint64) error {
		m, err := s.dev.Alloc(hal.KindDevice, n, 0)
		if err != nil {
			return err
		}
		return m.Close()
	}
}

func allocPool(s *site, c *closers) func(n uint64) error {
	p := frame.Get(pool.New(s.dev))
	c.add(p.Close)
	return func(n uint64) error {
		b, err := p.Alloc(s.stream, hal.KindDevice, n)
		if err != nil {
			return err
		}
		return b.Free(s.stream)
	}
}

func allocBuffer(s *site, _ *closers) func(n uint64) error {
	return func(n uint64) error {
		x, err := buffer.New[byte](int(n))
		if err != nil {
			return err
		}
		return errors.Join(access(x, s.stream, coherence.Overwrite), x.Close())
	}
}

// access acquires a lease of a buffer, and releases it.
func access[T buffer.Element](x *buffer.Buffer[T], on *hal.Stream, mode coherence.Mode) error {
	lease, err := x.TryAcquire(on, mode)
	if err != nil {
		return err
	}
	return lease.Release()
}

// elements makes a buffer whose accesses are measured.
func elements(c *closers) *buffer.Buffer[float32] {
	x := frame.Get(buffer.From(make([]float32, 1<<10)))
	c.add(x.Close)
	return x
}

func openAcquire(mode coherence.Mode) builder {
	return func(c *closers, s, _ *site, _ uint64) *fixture {
		x := elements(c)
		return &fixture{calls: s.calls(peer.Record), at: func(uint64) (ours, raw timing.Side) {
			return timing.Side{Leave: s.drain, Op: func() error { return access(x, s.stream, mode) }},
				s.beside(func(p peer.Peer) func() error { return p.Record })
		}}
	}
}

func openView(c *closers, s, _ *site, _ uint64) *fixture {
	x := elements(c)
	// The device has a replica too, as in a program that has run for a while.
	frame.Must(errors.Join(access(x, s.stream, coherence.Read), s.drain()))
	look := func([]float32) error { return nil }
	locked := peer.NewLocked(x.Len())
	return &fixture{calls: "sync.RWMutex", at: func(uint64) (ours, raw timing.Side) {
		return timing.Side{Op: func() error { return x.View(background, look) }},
			timing.Side{Op: func() error { return locked.View(look) }}
	}}
}

func openRoundTrip(c *closers, s, _ *site, most uint64) *fixture {
	m, host := s.memory(c, "device", most), pageable(most)
	whole := frame.Get(buffer.From(pageable(most)))
	c.add(whole.Close)
	return &fixture{calls: s.calls(peer.CopyIn, peer.Sync, peer.CopyOut, peer.Sync), at: func(n uint64) (ours, raw timing.Side) {
		x, err := whole.Slice(0, int(n))
		touch := func([]byte) error { return nil }
		ours = timing.Side{Op: func() error {
			if err != nil {
				return err
			}
			if err := access(x, s.stream, coherence.ReadWrite); err != nil {
				return err
			}
			return x.Update(background, touch)
		}}
		handle := m.Handle()
		return ours, s.beside(func(p peer.Peer) func() error {
			return then(then(func() error { return p.CopyIn(handle, at(host), n) }, p.Sync),
				then(func() error { return p.CopyOut(at(host), handle, n) }, p.Sync))
		})
	}}
}

func openAcross(c *closers, s, to *site, most uint64) *fixture {
	from, dst := s.memory(c, "device", most), to.memory(c, "device", most)
	f := &fixture{prove: (&proof{to: dst, from: from, toDev: to.dev, fromDev: s.dev}).prove}
	reach := to.dev.CanAccessPeer(s.dev)
	staging := s.memory(c, "pinned", most).HostPointer() // through which copies go where they cannot go directly
	if staging == nil {
		staging = at(pageable(most))
	}
	raw := func(n uint64) timing.Side {
		if s.raw == nil || to.raw == nil {
			return timing.Side{}
		}
		op, calls := peer.Across(to.raw, s.raw, reach, dst.Handle(), from.Handle(), staging, n)
		f.calls = calls
		return timing.Side{Op: op, Enter: func() error {
			if err := s.raw.Enter(); err != nil {
				return err
			}
			if err := to.raw.Enter(); err != nil {
				return errors.Join(err, s.raw.Leave())
			}
			return nil
		}, Leave: func() error { return errors.Join(to.raw.Leave(), s.raw.Leave()) }}
	}
	raw(4) // sets f.calls
	f.at = func(n uint64) (timing.Side, timing.Side) {
		d, r := dst.Region(0, n), from.Region(0, n)
		return timing.Side{Op: then(func() error { return hal.CopyPeer(to.stream, d, s.stream, r) }, func() error { return to.stream.Sync(background) })}, raw(n)
	}
	return f
}
