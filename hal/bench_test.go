package hal_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

var newStream, newMemory = fixture.Stream, fixture.Memory

func openHost(tb testing.TB, discrete, ordinal int) *hal.Device {
	tb.Helper()
	return fixture.Device(tb, host.New(host.Options{Discrete: discrete}), ordinal)
}

func BenchmarkCopyIn4Bytes(b *testing.B) {
	d := openHost(b, 1, 1)
	s, m := newStream(b, d), newMemory(b, d, 4096)
	src := make([]byte, 4)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.CopyIn(m.Region(0, 4), src); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, s.Sync(context.Background()))
}

func BenchmarkCopy4Bytes(b *testing.B) {
	d := openHost(b, 1, 1)
	s, m := newStream(b, d), newMemory(b, d, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Copy(m.Region(0, 4), m.Region(64, 4)); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, s.Sync(context.Background()))
}

// BenchmarkUseByStreams uses one memory on n streams in turn.
func BenchmarkUseByStreams(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openHost(b, 1, 1)
			m := newMemory(b, d, 4096)
			streams := make([]*hal.Stream, n)
			for i := range streams {
				streams[i] = newStream(b, d)
				require.NoError(b, streams[i].RecordUse(m))
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if err := streams[i].RecordUse(m); err != nil {
					b.Fatal(err)
				}
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

// BenchmarkUseByShortStreams uses one memory on streams that are made for it, after n others.
func BenchmarkUseByShortStreams(b *testing.B) {
	for _, n := range []int{0, 1000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openHost(b, 1, 1)
			m := newMemory(b, d, 4096)
			use := func() {
				s, err := d.NewStream()
				if err == nil {
					err = s.RecordUse(m)
				}
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for range n {
				use()
			}
			b.ReportAllocs()
			for b.Loop() {
				use()
			}
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	d := openHost(b, 1, 1)
	s := newStream(b, d)
	for name, o := range map[string][]hal.EventOption{"plain": nil, "timing": {hal.WithTiming()}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := s.Record(o...)
				if err != nil {
					b.Fatal(err)
				}
				_ = e.Close()
			}
		})
	}
}

func BenchmarkWait(b *testing.B) {
	d := openHost(b, 1, 1)
	s, other := newStream(b, d), newStream(b, d)
	e, err := other.Record()
	require.NoError(b, err)
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.WaitEvent(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecordShared(b *testing.B) {
	s := newStream(b, openHost(b, 1, 1))
	b.ReportAllocs()
	for b.Loop() {
		e, err := layer.RecordShared(s)
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Close()
	}
}

func BenchmarkAllocClose(b *testing.B) {
	d := openHost(b, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		m, err := d.Alloc(hal.KindDevice, 4096, 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = m.Close()
	}
}

// free is a driver whose calls cost nothing, so that what is left is this package.
type free struct {
	driver.Device
	memory *freeMemory
}

type freeMemory struct{ driver.Memory }

type freeBackend struct{ driver.Backend }

func (b freeBackend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &free{d, new(freeMemory)}, err
}

func (d *free) Alloc(driver.Kind, uint64, uint64) (driver.Memory, error) { return d.memory, nil }

func (*freeMemory) Free() error { return nil }

// BenchmarkAllocCloseAlone is what this package adds to an allocation and its release.
func BenchmarkAllocCloseAlone(b *testing.B) {
	d, err := hal.OpenWith(context.Background(), freeBackend{host.New(host.Options{})}, 0)
	require.NoError(b, err)
	defer func() { require.NoError(b, d.Close()) }()
	b.ReportAllocs()
	for b.Loop() {
		m, err := d.Alloc(hal.KindDevice, 4096, 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = m.Close()
	}
}
