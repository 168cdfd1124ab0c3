package hostmem

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// device is the unified device of the host at 0, and a discrete one at 1.
func device(t *testing.T, ordinal int) *hal.Device {
	return fixture.Device(t, host.New(host.Options{Discrete: 1}), ordinal)
}

// free frees the memory, which must not fail.
func free(t *testing.T, m *Memory, o *order.Order) {
	m.Free(o, func(err error) { assert.NoError(t, err) }).Over()
}

func TestAllocate(t *testing.T) {
	for _, size := range []uint64{0, 1, 4095, 4096, 100_000} {
		for _, guarded := range []bool{false, true} {
			var m Memory
			m.Init(size)
			require.NoError(t, m.Allocate(guarded))
			require.Len(t, m.Bytes, int(size))
			assert.True(t, m.Clean)
			assert.Equal(t, guarded && size > 0, m.Guarded())
			assert.Equal(t, !m.Guarded(), m.CanMove())
			assert.Equal(t, make([]byte, size), m.Bytes)
			if size >= 4096 {
				assert.Zero(t, uintptr(unsafe.Pointer(&m.Bytes[0]))%4096, "devices use whole pages in place")
			}
			free(t, &m, new(order.Order))
			assert.Nil(t, m.Bytes)
		}
	}
	var m Memory
	m.Init(math.MaxUint64)
	assert.ErrorIs(t, m.Allocate(false), hal.ErrOutOfMemory)
	assert.Nil(t, m.Bytes)
}

// A slice of the program is given back once: when nothing uses it any more, and not before.
func TestAdoptedBytesAreGivenBack(t *testing.T) {
	dev := device(t, 1)
	s := fixture.Stream(t, dev)
	gate := fixture.Gate(t, s)
	b := make([]byte, 100_000)
	released := make(chan bool, 2)
	var m Memory
	m.Init(uint64(len(b)))
	m.AdoptBytes(unsafe.Pointer(&b[0]), func() { released <- true })
	assert.False(t, m.CanMove())
	w := order.NewWork(s)
	var o order.Order
	o.Add(w, true, false)
	w.Release()
	free(t, &m, &o)
	select {
	case <-released:
		t.Error("the slice was given back while work uses it")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, gate.Signal())
	<-released
	assert.Empty(t, released)
}

// A device that shares the host's memory uses the replica in place. Memory of Go's heap moves to memory of the device with its contents.
func TestMemoryInPlace(t *testing.T) {
	dev := device(t, 0)
	var m Memory
	m.Init(10_000)
	require.NoError(t, m.Allocate(false))
	m.Bytes[5000] = 7
	assert.Nil(t, m.On(dev))
	home := m.Move(dev, func(move func(lo, hi uint64)) { move(4000, 6000) })
	require.NotNil(t, home)
	assert.Equal(t, home, m.On(dev))
	assert.Equal(t, home, m.Home())
	assert.Equal(t, byte(7), m.Bytes[5000])
	assert.False(t, m.CanMove())
	assert.False(t, m.Owed(home))
	r := m.RegionOn(home, 4096, 6000)
	assert.Equal(t, uint64(6000-4096), r.Len)
	assert.Equal(t, unsafe.Pointer(&m.Bytes[4096]), unsafe.Add(home.HostPointer(), r.Off))
	free(t, &m, new(order.Order))

	var other Memory
	other.Init(10_000)
	require.NoError(t, other.AllocateOn(dev, nil))
	assert.Equal(t, other.Home(), other.On(dev))
	assert.True(t, other.LockedFor(dev))
	free(t, &other, new(order.Order))
}

// Memory is page-locked for a device if copies of other memory are not in stream order, and if it has at least worthLocking bytes. The lock
// ends with Unlock, so that the device can be closed.
func TestPageLock(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Discrete: 1}), Info: func(i driver.Info) driver.Info {
		i.Caps &^= driver.CapOrderedPageable
		return i
	}}
	dev := fixture.Device(t, b, 1)
	s := fixture.Stream(t, dev)
	for _, row := range []struct {
		size   uint64
		locked int
	}{{worthLocking - 1, 0}, {worthLocking, 1}} {
		var m Memory
		m.Init(row.size)
		require.NoError(t, m.Allocate(false))
		assert.Equal(t, row.locked == 1, m.PageLock(s, row.size))
		assert.Equal(t, row.locked == 1, m.PageLock(s, row.size), "once is enough")
		assert.Len(t, m.locks, row.locked)
		assert.Equal(t, row.locked == 1, m.LockedFor(dev))
		require.NoError(t, m.Unlock(dev))
		assert.Empty(t, m.locks)
		free(t, &m, new(order.Order))
	}
}

// tightener has guarded memory that work used.
type tightener struct {
	m     *Memory
	o     *order.Order
	again chan bool
}

func (g *tightener) TightenAgain(over func() bool) {
	if over() {
		g.m.Tighten(Shut, g.o, g)
	}
	g.again <- true
}

// Guarded memory is as accessible as open accesses and unfinished work need, and no more.
func TestGuard(t *testing.T) {
	s := fixture.Stream(t, device(t, 1))
	var m Memory
	m.Init(10_000)
	require.NoError(t, m.Allocate(true))
	g := &tightener{&m, new(order.Order), make(chan bool, 1)}
	m.Tighten(Shut, g.o, g)
	assert.Equal(t, Shut, m.guard.level)
	require.NoError(t, m.Permit(false))
	assert.Equal(t, Readable, m.guard.level)
	require.NoError(t, m.Permit(true))
	assert.Equal(t, Writable, m.guard.level)
	require.NoError(t, m.Permit(false))
	assert.Equal(t, Writable, m.guard.level, "an access that reads does not end one that writes")
	m.Bytes[9999] = 1

	gate := fixture.Gate(t, s)
	w := order.NewWork(s)
	g.o.Add(w, false, false) // it reads
	w.Release()
	m.Tighten(Shut, g.o, g)
	assert.Equal(t, Readable, m.guard.level)
	assert.Equal(t, byte(1), m.Bytes[9999])
	require.NoError(t, gate.Signal())
	<-g.again
	assert.Equal(t, Shut, m.guard.level)
	free(t, &m, g.o)
}
