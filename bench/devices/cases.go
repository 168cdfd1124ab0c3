package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

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

	// open prepares for measurements up to the last size.
	open func(s, to *site, most uint64) (*fixture, error)
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
	var err error
	switch {
	case p.fill:
		for i := range want {
			want[i] = byte(uint32(pattern) >> (i % 4 * 8))
		}
	case p.from == nil:
		copy(p.host, want)
	default:
		err = p.fromDev.Write(background, p.from.Region(0, n), want)
	}
	if err == nil && p.to != nil {
		err = p.toDev.Write(background, p.to.Region(0, n), got)
	} else {
		copy(p.host, got)
	}
	if err == nil {
		err = op()
	}
	if err == nil && p.to != nil {
		err = p.toDev.Read(background, got, p.to.Region(0, n))
	} else {
		copy(got, p.host)
	}
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("the destination does not have the bytes of the source")
	}
	return err
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
	add := func(name string, sizes []uint64, about string, open func(s, to *site, most uint64) (*fixture, error)) {
		if len(sizes) > 0 {
			list = append(list, &family{name: name, sizes: sizes, about: about, open: open})
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
				about: "hal.CopyPeer to another device, and the wait for it", open: openAcross})
		}
	}
	return list
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

// open calls build. If build fails, open undoes the steps that build has added closers for.
func open(build func(c *closers) (*fixture, error)) (*fixture, error) {
	c := &closers{}
	f, err := build(c)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	f.close = c.close
	return f, nil
}

// memory allocates n bytes and touches all of them.
func (s *site) memory(c *closers, kind string, n uint64) (*hal.Memory, error) {
	m, err := s.dev.Alloc(kindNames[kind], n, 0)
	if err != nil {
		return nil, err
	}
	c.add(m.Close)
	if err := s.stream.Fill(m.All(), hal.Pattern8(0x5a)); err != nil {
		return nil, err
	}
	return m, s.stream.Sync(background)
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

// synced returns a function that makes a call and waits for its work.
func synced(s *hal.Stream, call func() error) func() error {
	return func() error {
		if err := call(); err != nil {
			return err
		}
		return s.Sync(background)
	}
}

func rawSynced(p peer.Peer, call func() error) func() error {
	return func() error {
		if err := call(); err != nil {
			return err
		}
		return p.Sync()
	}
}

func openCopy(src, dst string) func(s, to *site, most uint64) (*fixture, error) {
	return func(s, _ *site, most uint64) (*fixture, error) {
		return open(func(c *closers) (*fixture, error) {
			var from, to *hal.Memory
			var host []byte
			var err error
			if src == "pageable" || dst == "pageable" {
				host = pageable(most)
			}
			if src != "pageable" {
				if from, err = s.memory(c, src, most); err != nil {
					return nil, err
				}
			}
			if dst != "pageable" {
				if to, err = s.memory(c, dst, most); err != nil {
					return nil, err
				}
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
				return timing.Side{Op: synced(s.stream, call)}, s.beside(func(p peer.Peer) func() error {
					return rawSynced(p, rawCopy(p, op, to, from, host, n))
				})
			}}, nil
		})
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

func openFill(kind string) func(s, to *site, most uint64) (*fixture, error) {
	return func(s, _ *site, most uint64) (*fixture, error) {
		return open(func(c *closers) (*fixture, error) {
			m, err := s.memory(c, kind, most)
			if err != nil {
				return nil, err
			}
			p := &proof{to: m, toDev: s.dev, fill: true}
			return &fixture{calls: s.calls(peer.Fill, peer.Sync), prove: p.prove, at: func(n uint64) (ours, raw timing.Side) {
				region, handle := m.Region(0, n), m.Handle()
				return timing.Side{Op: synced(s.stream, func() error { return s.stream.Fill(region, hal.Pattern32(pattern)) })},
					s.beside(func(p peer.Peer) func() error {
						return rawSynced(p, func() error { return p.Fill(handle, pattern, n) })
					})
			}}, nil
		})
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

func openEnqueue(s, _ *site, most uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		m, err := s.memory(c, "device", most)
		if err != nil {
			return nil, err
		}
		host := pageable(most)
		p := &proof{to: m, toDev: s.dev, host: host}
		return &fixture{calls: s.calls(peer.CopyIn), prove: p.prove, at: func(n uint64) (ours, raw timing.Side) {
			region, handle, b := m.Region(0, n), m.Handle(), host[:n]
			ours = timing.Side{Per: crowd, Op: synced(s.stream, repeated(func() error { return s.stream.CopyIn(region, b) }))}
			raw = s.beside(func(p peer.Peer) func() error {
				return rawSynced(p, repeated(func() error { return p.CopyIn(handle, at(b), n) }))
			})
			raw.Per = crowd
			return ours, raw
		}}, nil
	})
}

func openSync(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(*closers) (*fixture, error) {
		return &fixture{calls: s.calls(peer.Sync), at: func(uint64) (ours, raw timing.Side) {
			ours = timing.Side{Op: func() error { return s.stream.Sync(background) }}
			if s.calls(peer.Sync) != "" {
				raw = s.beside(func(p peer.Peer) func() error { return p.Sync })
			}
			return ours, raw
		}}, nil
	})
}

// recorder returns a function that records one event again and again, as a program's loop does.
func (s *site) recorder(c *closers) (func() (*hal.Event, error), error) {
	e, err := s.stream.Record()
	if err != nil {
		return nil, err
	}
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
	}, nil
}

func openRecord(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		record, err := s.recorder(c)
		if err != nil {
			return nil, err
		}
		return &fixture{calls: s.calls(peer.Record), at: func(uint64) (ours, raw timing.Side) {
			return timing.Side{Op: func() error { _, err := record(); return err }, Leave: s.drain},
				s.beside(func(p peer.Peer) func() error { return p.Record })
		}}, nil
	})
}

// drain waits for both streams.
func (s *site) drain() error {
	return errors.Join(s.stream.Sync(background), s.other.Sync(background))
}

func openRecordWait(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		m, err := s.memory(c, "device", 64)
		if err != nil {
			return nil, err
		}
		record, err := s.recorder(c)
		if err != nil {
			return nil, err
		}
		region, handle := m.Region(0, 4), m.Handle()
		return &fixture{calls: s.calls(peer.Fill, peer.RecordWait), at: func(uint64) (ours, raw timing.Side) {
			ours = timing.Side{Per: crowd, Leave: s.drain, Op: synced(s.other, repeated(func() error {
				if err := s.stream.Fill(region, hal.Pattern32(pattern)); err != nil {
					return err
				}
				e, err := record()
				if err != nil {
					return err
				}
				return s.other.WaitEvent(e)
			}))}
			raw = s.beside(func(p peer.Peer) func() error {
				return rawSynced(p, repeated(func() error {
					if err := p.Fill(handle, pattern, 4); err != nil {
						return err
					}
					return p.RecordWait()
				}))
			})
			raw.Per = crowd
			return ours, raw
		}}, nil
	})
}

func openAlloc(ours func(s *site, c *closers, most uint64) (func(n uint64) func() error, error)) func(s, to *site, most uint64) (*fixture, error) {
	return func(s, _ *site, most uint64) (*fixture, error) {
		return open(func(c *closers) (*fixture, error) {
			op, err := ours(s, c, most)
			if err != nil {
				return nil, err
			}
			return &fixture{calls: s.calls(peer.AllocFree), at: func(n uint64) (timing.Side, timing.Side) {
				return timing.Side{Op: op(n), Leave: s.drain},
					s.beside(func(p peer.Peer) func() error { return func() error { return p.AllocFree(n) } })
			}}, nil
		})
	}
}

func allocHAL(s *site, _ *closers, _ uint64) (func(n uint64) func() error, error) {
	return func(n uint64) func() error {
		return func() error {
			m, err := s.dev.Alloc(hal.KindDevice, n, 0)
			if err != nil {
				return err
			}
			return m.Close()
		}
	}, nil
}

func allocPool(s *site, c *closers, _ uint64) (func(n uint64) func() error, error) {
	p, err := pool.New(s.dev)
	if err != nil {
		return nil, err
	}
	c.add(p.Close)
	return func(n uint64) func() error {
		return func() error {
			b, err := p.Alloc(s.stream, hal.KindDevice, n)
			if err != nil {
				return err
			}
			return b.Free(s.stream)
		}
	}, nil
}

func allocBuffer(s *site, _ *closers, _ uint64) (func(n uint64) func() error, error) {
	return func(n uint64) func() error {
		return func() error {
			x, err := buffer.New[byte](int(n))
			if err != nil {
				return err
			}
			lease, err := x.TryAcquire(s.stream, coherence.Overwrite)
			if err == nil {
				err = lease.Release()
			}
			return errors.Join(err, x.Close())
		}
	}, nil
}

// elements is the number of elements of the buffers whose accesses are measured.
const elements = 1 << 10

func openAcquire(mode coherence.Mode) func(s, to *site, most uint64) (*fixture, error) {
	return func(s, _ *site, _ uint64) (*fixture, error) {
		return open(func(c *closers) (*fixture, error) {
			x, err := buffer.From(make([]float32, elements))
			if err != nil {
				return nil, err
			}
			c.add(x.Close)
			return &fixture{calls: s.calls(peer.Record), at: func(uint64) (ours, raw timing.Side) {
				return timing.Side{Leave: s.drain, Op: func() error {
					lease, err := x.TryAcquire(s.stream, mode)
					if err != nil {
						return err
					}
					return lease.Release()
				}}, s.beside(func(p peer.Peer) func() error { return p.Record })
			}}, nil
		})
	}
}

func openView(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		x, err := buffer.From(make([]float32, elements))
		if err != nil {
			return nil, err
		}
		c.add(x.Close)
		// The device has a replica too, as in a program that has run for a while.
		lease, err := x.TryAcquire(s.stream, coherence.Read)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(lease.Release(), s.drain()); err != nil {
			return nil, err
		}
		look := func([]float32) error { return nil }
		locked := peer.NewLocked(elements)
		return &fixture{calls: "sync.RWMutex", at: func(uint64) (ours, raw timing.Side) {
			return timing.Side{Op: func() error { return x.View(background, look) }},
				timing.Side{Op: func() error { return locked.View(look) }}
		}}, nil
	})
}

func openRoundTrip(s, _ *site, most uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		m, err := s.memory(c, "device", most)
		if err != nil {
			return nil, err
		}
		whole, err := buffer.From(pageable(most))
		if err != nil {
			return nil, err
		}
		c.add(whole.Close)
		host := pageable(most)
		return &fixture{calls: s.calls(peer.CopyIn, peer.Sync, peer.CopyOut, peer.Sync), at: func(n uint64) (ours, raw timing.Side) {
			x, serr := whole.Slice(0, int(n))
			touch := func([]byte) error { return nil }
			ours = timing.Side{Op: func() error {
				if serr != nil {
					return serr
				}
				lease, err := x.TryAcquire(s.stream, coherence.ReadWrite)
				if err != nil {
					return err
				}
				if err := lease.Release(); err != nil {
					return err
				}
				return x.Update(background, touch)
			}}
			handle := m.Handle()
			return ours, s.beside(func(p peer.Peer) func() error {
				return func() error {
					if err := p.CopyIn(handle, at(host), n); err != nil {
						return err
					}
					if err := p.Sync(); err != nil {
						return err
					}
					if err := p.CopyOut(at(host), handle, n); err != nil {
						return err
					}
					return p.Sync()
				}
			})
		}}, nil
	})
}

func openAcross(s, to *site, most uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		from, err := s.memory(c, "device", most)
		if err != nil {
			return nil, err
		}
		dst, err := to.memory(c, "device", most)
		if err != nil {
			return nil, err
		}
		f := &fixture{prove: (&proof{to: dst, from: from, toDev: to.dev, fromDev: s.dev}).prove}
		reach := to.dev.CanAccessPeer(s.dev)
		staging, err := stagingOf(s, c, most)
		if err != nil {
			return nil, err
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
			return timing.Side{Op: synced(to.stream, func() error { return hal.CopyPeer(to.stream, d, s.stream, r) })}, raw(n)
		}
		return f, nil
	})
}

// stagingOf returns host memory for copies between devices, page-locked if the device supports that.
func stagingOf(s *site, c *closers, n uint64) (unsafe.Pointer, error) {
	m, err := s.memory(c, "pinned", n)
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	if p := m.HostPointer(); p != nil {
		return p, nil
	}
	return at(pageable(n)), nil
}
