package pool_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// model is a pool beside what a program knows of it. Streams are held shut and opened at random; the
// contents of every block are written when it is allocated and read when it is freed, on its stream, so
// that memory which two streams use at once shows in what is read.
type model struct {
	t       *rapid.T
	d       *hal.Device
	p       *pool.Pool
	limit   uint64
	noWaits bool
	unit    uint64
	streams []*hal.Stream
	gates   []*hal.Gate // nil where a stream is open
	live    []held
	reads   []read
	stamp   byte
}

type held struct {
	b      pool.Block
	stream int // -1 for none
	size   uint64
	region hal.Region
	stamp  byte
}

type read struct {
	got   []byte
	stamp byte
}

func (m *model) check(err error) {
	if err != nil {
		m.t.Helper()
		m.t.Fatal(err)
	}
}

func (m *model) alloc() {
	i := rapid.IntRange(-1, len(m.streams)-1).Draw(m.t, "stream")
	kind := hal.Kind(rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(m.t, "kind"))
	size := rapid.OneOf(rapid.Uint64Range(1, 3000), rapid.Uint64Range(1, 40<<10), rapid.SampledFrom([]uint64{256, 8 << 10, 32 << 10})).Draw(m.t, "size")
	m.allocOn(i, kind, size)
}

// burst uses as many blocks at once on one stream as are like it to be short of memory, while
// the stream is held shut.
func (m *model) burst() {
	i := rapid.IntRange(0, len(m.streams)-1).Draw(m.t, "stream")
	size := rapid.SampledFrom([]uint64{3 << 10, 7 << 10, 20 << 10}).Draw(m.t, "size")
	if m.gates[i] == nil {
		g, err := m.streams[i].Gate()
		m.check(err)
		m.gates[i] = g
	}
	first := len(m.live)
	for range rapid.IntRange(1, 12).Draw(m.t, "blocks") {
		m.allocOn(i, hal.KindDevice, size)
	}
	for len(m.live) > first {
		m.freeFrom(first, i)
	}
}

func (m *model) allocOn(i int, kind hal.Kind, size uint64) {
	var s *hal.Stream
	if i >= 0 {
		s = m.streams[i]
	}
	b, err := m.p.Alloc(s, kind, size)
	if m.limit > 0 && errors.Is(err, hal.ErrOutOfMemory) {
		return
	}
	m.check(err)
	r, err := b.Region()
	m.check(err)
	if b.Size() != size || r.Len != size || b.Kind() != kind || r.Mem.Kind() != kind || r.Off+b.Capacity() > r.Mem.Size() {
		m.t.Fatalf("%d bytes of %v became %v with %d", size, kind, r, b.Capacity())
	}
	if (uint64(r.Mem.Handle())+r.Off)%m.unit != 0 {
		m.t.Fatalf("%#x is not a multiple of %d", uint64(r.Mem.Handle())+r.Off, m.unit)
	}
	if waste := b.Capacity() - size; waste >= m.unit && 8*waste >= size {
		m.t.Fatalf("%d bytes occupy %d", size, b.Capacity())
	}
	whole := hal.Region{Mem: r.Mem, Off: r.Off, Len: b.Capacity()}
	for _, x := range m.live {
		if overlap(whole, x.region) {
			m.t.Fatalf("%v and %v overlap", whole, x.region)
		}
	}
	m.stamp++
	if s == nil {
		if b.Ordered() {
			m.t.Fatal("a block of no stream is ordered")
		}
		// On a stream of its own: nothing else may use the memory any more.
		s, err = m.d.CopyStream(false)
		m.check(err)
	}
	m.check(s.Fill(r, hal.Pattern8(m.stamp)))
	if i < 0 {
		m.check(s.Sync(ctx))
	}
	m.live = append(m.live, held{b, i, size, whole, m.stamp})
}

func (m *model) free() {
	if len(m.live) == 0 {
		return
	}
	m.freeFrom(rapid.IntRange(0, len(m.live)-1).Draw(m.t, "block"), rapid.IntRange(-1, len(m.streams)-1).Draw(m.t, "freed on"))
}

// freeFrom frees live block i after a last use on a stream.
func (m *model) freeFrom(i, last int) {
	x := m.live[i]
	m.live = slices.Delete(m.live, i, i+1)
	var s *hal.Stream
	if x.stream >= 0 {
		s = m.streams[x.stream]
	}
	r, err := x.b.Region()
	m.check(err)
	out := make([]byte, x.size)
	m.reads = append(m.reads, read{out, x.stamp})
	switch {
	case last >= 0 && rapid.Bool().Draw(m.t, "told"):
		// Read by another stream, which the pool is told of, and freed on its own.
		if s != nil {
			m.order(m.streams[last], s)
		}
		m.check(m.streams[last].CopyOut(out, r))
		m.check(x.b.RecordUse(m.streams[last]))
	case last >= 0:
		// Handed to another stream in order, and freed there.
		if s != nil {
			m.order(m.streams[last], s)
		}
		s = m.streams[last]
		m.check(s.CopyOut(out, r))
	case s != nil:
		m.check(s.CopyOut(out, r))
	default:
		c, err := m.d.CopyStream(true)
		m.check(err)
		m.check(c.CopyOut(out, r))
		m.check(c.Sync(ctx))
	}
	m.check(x.b.Free(s))
	if !errors.Is(x.b.Free(s), hal.ErrClosed) {
		m.t.Fatal("freed twice")
	}
}

func (m *model) order(later, earlier *hal.Stream) {
	mark, err := layer.RecordShared(earlier)
	m.check(err)
	m.check(later.WaitEvent(mark))
	mark.Close()
}

func (m *model) toggle() {
	i := rapid.IntRange(0, len(m.streams)-1).Draw(m.t, "gate")
	if m.gates[i] == nil {
		g, err := m.streams[i].Gate()
		m.check(err)
		m.gates[i] = g
		return
	}
	m.check(m.gates[i].Signal())
	m.gates[i] = nil
}

func (m *model) retire() {
	m.check(m.p.ForgetStream(m.streams[rapid.IntRange(0, len(m.streams)-1).Draw(m.t, "retired")]))
}

func (m *model) figures() {
	var sum, asked uint64
	for _, x := range m.live {
		sum += x.region.Len
		asked += x.size
	}
	st := m.p.Stats()
	if st.Blocks != len(m.live) || st.Live != sum || st.Asked != asked {
		m.t.Fatalf("%d blocks of %d bytes, %d asked for; the pool says %+v", len(m.live), sum, asked, st)
	}
	if held := m.d.Usage().Held; st.Reserved > held || m.limit > 0 && st.Reserved > m.limit || st.Live > st.Reserved {
		m.t.Fatalf("the device holds %d; the pool says %+v", held, st)
	}
	if m.noWaits && st.Waits() > 0 {
		m.t.Fatal("a stream was made to wait")
	}
}

func (m *model) end() {
	for i, g := range m.gates {
		if g != nil {
			m.check(g.Signal())
			m.gates[i] = nil
		}
	}
	for _, s := range m.streams {
		m.check(s.Sync(ctx))
	}
	for _, r := range m.reads {
		if n := bytes.Count(r.got, []byte{r.stamp}); n != len(r.got) {
			m.t.Fatalf("%d of %d bytes were overwritten", len(r.got)-n, len(r.got))
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ordinal := rapid.IntRange(0, 1).Draw(t, "device")
		d, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), ordinal)
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.SampledFrom([]uint64{0, 160 << 10, 100 << 10, 70 << 10}).Draw(t, "limit")
		noWaits := rapid.Bool().Draw(t, "no waits")
		opts := []pool.Option{pool.WithChunk(64 << 10), pool.WithLarge(16 << 10), pool.WithLimit(limit),
			pool.WithMaxCached(rapid.SampledFrom([]uint64{0, 0, 64 << 10}).Draw(t, "max cached"))}
		if noWaits {
			opts = append(opts, pool.WithoutWaits())
		}
		if rapid.Bool().Draw(t, "no stream alloc") {
			opts = append(opts, pool.WithoutStreamAlloc())
		}
		p, err := pool.New(d, opts...)
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, d: d, p: p, limit: limit, noWaits: noWaits, unit: d.Info().Alignment}
		for range 3 {
			s, err := d.NewStream()
			m.check(err)
			m.streams = append(m.streams, s)
		}
		m.gates = make([]*hal.Gate, len(m.streams))
		defer func() {
			for _, g := range m.gates {
				if g != nil {
					_ = g.Signal()
				}
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"alloc":  func(*rapid.T) { m.alloc() },
			"alloc2": func(*rapid.T) { m.alloc() },
			"burst":  func(*rapid.T) { m.burst() },
			"free":   func(*rapid.T) { m.free() },
			"gate":   func(*rapid.T) { m.toggle() },
			"retire": func(*rapid.T) { m.retire() },
			"trim":   func(t *rapid.T) { m.p.Trim(rapid.Uint64Range(0, 100<<10).Draw(t, "keep")) },
			"end":    func(*rapid.T) { m.end() },
			"":       func(*rapid.T) { m.figures() },
		})
		m.end()
		if len(m.live) > 0 {
			if err := p.Close(); !errors.Is(err, hal.ErrBusy) {
				t.Fatalf("closed with live blocks: %v", err)
			}
		}
		for len(m.live) > 0 {
			m.free()
		}
		m.check(p.Close())
		m.end()
		for _, s := range m.streams {
			m.check(s.Close())
		}
		m.check(d.Close())
	})
}
