//go:build opencl

package opencl

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// lateCounter is lateFrees, and what they have freed.
type lateCounter struct {
	lateFrees
	freed []uintptr // guarded by mu
}

func newLateCounter() *lateCounter {
	c := &lateCounter{}
	c.free = func(base uintptr) { c.freed = append(c.freed, base) }
	return c
}

// seen returns what has been freed.
func (c *lateCounter) seen() []uintptr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.freed)
}

func TestMemoryOfPoCLIsFreedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLateCounter()
		l.put(1, 100)
		time.Sleep(keepFreed / 2)
		l.put(2, 100)
		synctest.Wait()
		require.Empty(t, l.seen())
		time.Sleep(keepFreed / 2)
		synctest.Wait()
		require.Equal(t, []uintptr{1}, l.seen(), "freed when its time has passed, with no further call")
		time.Sleep(keepFreed / 2)
		synctest.Wait()
		require.Equal(t, []uintptr{1, 2}, l.seen())
		l.put(3, 100)
		time.Sleep(keepFreed / 4)
		start := time.Now()
		l.trim()
		require.Equal(t, []uintptr{1, 2, 3}, l.seen())
		require.Equal(t, keepFreed*3/4, time.Since(start), "not before its time")
		l.trim()
		require.Equal(t, keepFreed*3/4, time.Since(start), "nothing is kept")
		l.close()
		require.Len(t, l.seen(), 3)
	})
}

func TestMemoryOfPoCLIsFreedSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 1 << 30
		l := newLateCounter()
		tries := 0
		succeed := func() bool { tries++; return true }
		l.put(1, 100)
		l.allocate(total-100, total, succeed)
		require.Equal(t, 1, tries)
		require.Empty(t, l.seen())
		l.allocate(total-99, total, succeed)
		require.Equal(t, 2, tries)
		require.Equal(t, []uintptr{1}, l.seen(), "the device has too little memory for both")

		start := time.Now()
		l.put(2, 100)
		l.allocate(0, total, func() bool { tries++; return len(l.freed) == 2 })
		require.Equal(t, 4, tries, "a failed allocation is tried again with the memory that was kept")
		require.Equal(t, keepFreedLeast, time.Since(start), "but the memory is kept for a while")
		l.allocate(0, total, func() bool { tries++; return false })
		require.Equal(t, 5, tries, "and not where none was")

		start = time.Now()
		l.put(3, keepFreedBytes+1)
		require.Len(t, l.seen(), 2, "the last one is kept")
		l.put(4, 1)
		require.Equal(t, []uintptr{1, 2, 3}, l.seen(), "too many bytes")
		require.Equal(t, keepFreedLeast, time.Since(start))
		l.close()
		require.Equal(t, []uintptr{1, 2, 3, 4}, l.seen())
		require.Zero(t, l.bytes)
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLateCounter()
		for i := range keepFreedBlocks + 10 {
			l.put(uintptr(i), 1)
		}
		require.Len(t, l.seen(), 10, "too many blocks")
		require.EqualValues(t, keepFreedBlocks, l.bytes)
		l.close()
		require.Len(t, l.seen(), keepFreedBlocks+10)
	})
}

// Allocations and frees hold one lock.
func TestNoFreeBesideAnAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lateFrees{}
		calls := 0
		alone := func() {
			calls++
			if l.mu.TryLock() {
				l.mu.Unlock()
				t.Error("another call may run")
			}
		}
		l.free = func(uintptr) { alone() }
		l.put(1, keepFreedBytes)
		l.put(2, 1)
		require.Equal(t, 1, calls)
		l.allocate(0, 0, func() bool { alone(); return calls > 2 })
		require.Equal(t, 4, calls, "a try, a free and another try")
		l.put(3, 1)
		l.close()
		require.Equal(t, 5, calls)
	})
}

func TestWhereMemoryIsFreedLater(t *testing.T) {
	all := tiers(1<<tierUSM | 1<<tierSVM | 1<<tierSVMCoarse | 1<<tierBuffer)
	old := all &^ (1 << tierUSM)
	for _, c := range []struct {
		h    *hardware
		t    tier
		late bool
	}{
		{&hardware{platformText: pocl, tiers: all}, tierUSM, true},
		{&hardware{platformText: pocl, tiers: all}, tierSVM, true},
		{&hardware{platformText: pocl, tiers: all}, tierSVMCoarse, true},
		{&hardware{platformText: pocl, tiers: all}, tierBuffer, false},
		{&hardware{platformText: pocl, tiers: old, deviceAddress: true}, tierSVMCoarse, true},
		{&hardware{platformText: pocl, tiers: old}, tierSVM, false},
		{&hardware{platformText: "Intel(R) OpenCL", tiers: all, deviceAddress: true}, tierUSM, false},
	} {
		assert.Equal(t, c.late, lateFreesOn(c.h, c.t, 1) != nil, "%v of %v on %v", c.t, c.h.tiers, c.h.platformText)
	}
}

// What the device allocates and frees goes through the context's lateFrees, if it has them.
func TestFreesThatComeLater(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier == tierBuffer {
			assert.Nil(t, p.ctx.late)
			return
		}
		fails, frees := 0, 0
		alloc := func() bool {
			if p.ctx.late.mu.TryLock() {
				p.ctx.late.mu.Unlock()
				t.Error("an allocation beside frees")
			}
			fails--
			return fails < 0
		}
		if usm := p.hw.usm; usm != nil {
			u := *usm
			u.hostAlloc = func(cl uintptr, n uint64, align uint32) (uintptr, status) {
				if !alloc() {
					return 0, outOfResources
				}
				return usm.hostAlloc(cl, n, align)
			}
			u.free = func(cl, base uintptr) status { frees++; return usm.free(cl, base) }
			p.hw.usm = &u
		}
		svmAlloc, svmFree := p.t.svmAlloc, p.t.svmFree
		p.t.svmAlloc = func(cl uintptr, flags, n uint64, align uint32) uintptr {
			if !alloc() {
				return 0
			}
			return svmAlloc(cl, flags, n, align)
		}
		p.t.svmFree = func(cl, base uintptr) { frees++; svmFree(cl, base) }
		if p.ctx.late == nil { // as on PoCL 7.1
			platform := p.hw.platformText
			p.hw.platformText, p.hw.deviceAddress = pocl, true
			p.ctx.late = lateFreesOn(p.hw, p.tier, p.ctx.cl)
			p.hw.platformText = platform
		}
		require.NotNil(t, p.ctx.late)

		m, err := p.Alloc(driver.KindHost, 64, 0)
		ok(t, err)
		ok(t, m.Free())
		require.Zero(t, frees)
		if p.tier == tierUSM {
			_, err = p.PointerInfo(m.Handle())
			wantKind(t, err, driver.ErrInvalidArgument)
		}
		fails = 1
		m, err = p.Alloc(driver.KindHost, 64, 0)
		ok(t, err)
		require.Equal(t, 1, frees, "the failed allocation made room")
		ok(t, m.Free())
		driver.Device(p.device).(driver.Trimmer).Trim()
		require.Equal(t, 2, frees)
	})
}
