package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

var coherenceChecks = []Check{
	{Name: "HostViewAfterDeviceWrite", Rule: "The host sees what a device wrote.", run: hostViewAfterDeviceWrite},
	{Name: "DeviceReadAfterHostUpdate", Rule: "A device sees what the host wrote.", run: deviceReadAfterHostUpdate},
	{Name: "ReadNeverWrittenIsZeros", Rule: "Bytes that were never written, or were discarded, read as zeros at every place.", run: readNeverWritten},
	{Name: "OverwriteTransfersNothing", Rule: "An access that overwrites everything copies nothing.", run: overwriteTransfersNothing},
	{Name: "MinimalTransfers", Rule: "A sequence of accesses copies each stale range once and never a current one.", run: minimalTransfers},
	{Name: "UnifiedPlaceCopiesNothing", Rule: "Between the host and a unified device nothing is copied.", run: unifiedCopiesNothing},
	{Name: "LegalTransitions", Rule: "Every action in every reachable state leads to the state, and makes the copies, that the protocol's table says.", run: legalTransitions},
	{Name: "IllegalRejectedUnchanged", Rule: "An action that the state does not allow is a conflict and changes nothing.", run: illegalRejected},
	{Name: "NoElements", Rule: "A buffer or slice of no elements can be used like any other, and excludes no access.", run: noElements},
	{Name: "BadArgumentsRejected", Rule: "Invalid arguments are refused and change nothing.", run: bufferBadArguments},
	{Name: "ClosedStreamRejected", Rule: "An access on a closed stream is refused as closed, changes nothing and does not disturb other accesses.", run: closedStream},
	{Name: "StreamClosedUnderLease", Rule: "A lease whose stream was closed ends with an error, and the buffer can be used again.", run: streamClosedUnderLease},
	{Name: "ClosedBufferRejects", Rule: "A closed buffer and its slices refuse every use.", run: closedBuffer},
	{Name: "CancelledContextChangesNothing", Rule: "An access whose context has ended fails as not ready and changes nothing.", run: cancelledAccess},
	{Name: "StaleLeaseRejected", Rule: "After a lease is released, every copy of it is refused and gives no memory.", run: staleLease},
	{Name: "StaleMarkIsConflict", Rule: "Marking a stale replica as modified is a conflict and loses nothing.", run: staleMark},
	{Name: "MarkedWriteIsSeen", Rule: "After a current replica is written and marked modified, every place reads the new bytes.", run: markedWrite},
	{Name: "LeaseExcludesWriter", Rule: "Readers share a range, and a writer excludes all others, but only where ranges overlap.", run: leaseExcludesWriter},
	{Name: "ConflictNamesBothSides", Rule: "A conflict names the access that was refused and the access that holds the range.", run: conflictNamesBothSides},
	{Name: "FrozenRejectsWrites", Rule: "A frozen buffer can be read and not written.", run: frozenRejectsWrites},
	{Name: "EvictionKeepsSoleCopy", Rule: "Evicting the only current replica first copies it elsewhere, or is refused.", run: evictionKeeps},
	{Name: "SliceAndParentAgree", Rule: "A slice and its buffer see each other's writes, and an access to a slice affects only its range.", run: sliceAndParent},
	{Name: "RangeWriteMovesOnlyTheRange", Rule: "After a write to a range no more than the range is copied.", run: rangeWrite},
	{Name: "CloneIsIndependent", Rule: "A clone has the same contents as the original and shares no memory with it.", run: cloneIndependent},
	{Name: "PrefetchAndSyncTo", Rule: "Bytes that were prefetched to a place are not copied there again.", run: prefetchAndSyncTo},
	{Name: "PageLockedHome", Rule: "A buffer whose host replica is page-locked memory of the device keeps the same rules.", run: pageLockedHome},
	{Name: "ThreePlacesAgree", Rule: "Whichever of three places writes, all of them read the new bytes.", run: threePlaces},
	{Name: "CrossBackendPlacesAgree", Rule: "Devices of different backends share a buffer like those of one.", NeedsOther: true, run: crossBackendPlaces},
	{Name: "CrossStreamReadAfterWrite", Rule: "A read on one stream waits for the write on another.", Needs: hal.CapGate, run: crossStreamReadAfterWrite},
	{Name: "CrossDeviceReadAfterWrite", Rule: "A read on one device waits for the write on another.", Needs: hal.CapGate, run: crossDeviceReadAfterWrite},
	{Name: "WriteAfterReadWaits", Rule: "A write on one stream waits for reads of the same replica on others.", Needs: hal.CapGate, run: writeAfterRead},
	{Name: "ReadersDoNotWait", Rule: "A read waits for no other read.", Needs: hal.CapGate, run: readersDoNotWait},
	{Name: "OtherReplicaDoesNotWait", Rule: "A write does not wait for reads of another replica.", Needs: hal.CapGate, run: otherReplica},
	{Name: "ViewHonoursContext", Rule: "A host access that waits for a device gives up when its context ends, and nothing is lost.", Needs: hal.CapGate, run: viewHonoursContext},
	{Name: "CloseWhileInFlight", Rule: "A buffer can be closed while work uses it.", Needs: hal.CapGate, run: closeBufferInFlight},
	{Name: "FailedCopyLeavesDestinationInvalid", Rule: "A transfer that fails leaves its destination stale and its source current, and the bytes are never wrong.", run: failedCopy},
	{Name: "FailureUnderWayIsNoticed", Rule: "A transfer that fails when it runs makes the next access fail, and the bytes are never wrong.", run: failureUnderWay},
	{Name: "FailureUnderWayIsNotCopiedOn", Rule: "Bytes copied from a replica whose own transfer then fails do not count as current.", NeedsPeer: true, run: failureCopiedOn},
	{Name: "OversubscribedWorkingSetFinishes", Rule: "A working set eight times the device's budget is worked through, and no byte is lost.", run: oversubscribed},
	{Name: "ManyGoroutines", Rule: "Goroutines that update one buffer at many places lose no update.", run: manyGoroutines},
	{Name: "SeededModelAgainstBackend", Rule: "Random actions at random places and ranges always show the bytes of a plain slice.", run: seededModel},
}

type bytesBuffer = buffer.Buffer[uint8]

// zeros makes a buffer that was never written, closed at the end of the check.
func (t *trial) zeros(n int) *bytesBuffer {
	b, err := buffer.New[uint8](n)
	t.must(err, "new buffer")
	t.Cleanup(func() { t.must(b.Close(), "close buffer") })
	return b
}

// holding makes a buffer with data at the host.
func (t *trial) holding(data []byte) *bytesBuffer {
	b, err := buffer.From(data)
	t.must(err, "new buffer")
	t.Cleanup(func() { t.must(b.Close(), "close buffer") })
	return b
}

// part is a slice of b.
func (t *trial) part(b *bytesBuffer, i, j int) *bytesBuffer {
	p, err := b.Slice(i, j)
	t.must(err, "slice [%d, %d)", i, j)
	return p
}

// lease acquires b. The caller releases it.
func (t *trial) lease(b *bytesBuffer, s *hal.Stream, mode coherence.Mode) buffer.Lease {
	l, err := b.TryAcquire(s, mode)
	if errors.Is(err, hal.ErrNotReady) && errors.Is(err, hal.ErrOutOfMemory) { // there is room once evicted bytes have been copied
		l, err = b.Acquire(t.ctx, s, mode)
	}
	t.must(err, "acquire for %v", mode)
	r := l.Region()
	t.want(r.Mem != nil && r.Len == b.Size(), "a lease on %d bytes is a region of %d", b.Size(), r.Len)
	t.want(r.Mem.Device().Same(s.Device()), "a lease for a stream of %s is memory of %s", s.Device().Name(), r.Mem.Device().Name())
	return l
}

// deviceWrites overwrites b on the stream's device, and does not wait. data must not change any more.
func (t *trial) deviceWrites(b *bytesBuffer, s *hal.Stream, data []byte) {
	l := t.lease(b, s, coherence.Overwrite)
	t.must(s.CopyIn(l.Region(), data), "copy in")
	t.must(l.Release(), "release")
}

// deviceUpdates overwrites the part of b that begins at off, keeping the rest.
func (t *trial) deviceUpdates(b *bytesBuffer, s *hal.Stream, off int, data []byte) {
	l := t.lease(b, s, coherence.ReadWrite)
	r, err := l.Region().Sub(uint64(off), uint64(len(data)))
	t.must(err, "sub")
	t.must(s.CopyIn(r, data), "copy in")
	t.must(l.Release(), "release")
}

// deviceReads returns b as the stream's device sees it.
func (t *trial) deviceReads(b *bytesBuffer, s *hal.Stream) []byte {
	out := make([]byte, b.Len())
	l := t.lease(b, s, coherence.Read)
	t.must(s.CopyOut(out, l.Region()), "copy out")
	t.must(l.Release(), "release")
	t.sync(s)
	return out
}

// hostReads returns b as the host sees it.
func (t *trial) hostReads(b *bytesBuffer) []byte {
	var out []byte
	t.must(b.View(t.ctx, func(v []byte) error { out = bytes.Clone(v); return nil }), "view")
	return out
}

func (t *trial) hostUpdates(b *bytesBuffer, off int, data []byte) {
	t.must(b.Update(t.ctx, func(v []byte) error { copy(v[off:], data); return nil }), "update")
}

func (t *trial) hostWrites(b *bytesBuffer, data []byte) {
	t.must(b.Overwrite(t.ctx, func(v []byte) error { copy(v, data); return nil }), "overwrite")
}

// moved returns the statistics of what b copied and filled during fn.
func moved(b *bytesBuffer, fn func()) buffer.Stats {
	before := b.Stats()
	fn()
	return b.Stats().Sub(before)
}

// costs fails unless fn copies and fills exactly the given numbers of bytes.
func (t *trial) costs(b *bytesBuffer, what string, copied, filled int, fn func()) {
	d := moved(b, fn)
	if d.BytesCopied != uint64(copied) || d.BytesFilled != uint64(filled) {
		t.Errorf("%s: %d bytes copied and %d cleared, want %d and %d", what, d.BytesCopied, d.BytesFilled, copied, filled)
	}
}

// apart is how many bytes a transfer between the host and the device costs: none if they share a place.
func (t *trial) apart(n int) int {
	if t.dev.Info().SharesHostMemory {
		return 0
	}
	return n
}

// standing is everything that must not change when an access is refused.
type standing struct {
	allocated, valid string
	version          int64
}

func standingOf(b *bytesBuffer) standing {
	st := b.State()
	var allocated, valid []string
	for _, p := range st.Places {
		if p.Allocated {
			allocated = append(allocated, p.Place)
		}
		if p.Valid {
			valid = append(valid, p.Place)
		}
	}
	return standing{strings.Join(allocated, ", "), strings.Join(valid, ", "), st.Version}
}

func (s standing) String() string {
	return fmt.Sprintf("valid at {%s}, allocated at {%s}, version %d", s.valid, s.allocated, s.version)
}

// refusesAccess fails unless call gives an error that matches all the kinds and leaves b alone.
func (t *trial) refusesAccess(b *bytesBuffer, what string, call func() error, kinds ...error) {
	before, stats := standingOf(b), b.Stats()
	err := call()
	for _, k := range kinds {
		if err == nil {
			t.Errorf("%s: no error, want %q", what, k)
		} else if !errors.Is(err, k) {
			t.Errorf("%s: error %q, want kind %q", what, err, k)
		}
	}
	if after := standingOf(b); after != before {
		t.Errorf("%s: was %v, is %v", what, before, after)
	}
	if d := b.Stats().Sub(stats); d.Copies != 0 || d.Fills != 0 {
		t.Errorf("%s: moved %+v", what, d)
	}
}

func hostViewAfterDeviceWrite(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{1, 1000, 65_537} {
		b := t.zeros(n)
		for range 3 {
			data := t.random(n)
			t.deviceWrites(b, s, data)
			t.same(t.hostReads(b), data, "%d bytes that the device wrote", n)
			more := t.random(n/2 + 1)
			t.deviceUpdates(b, s, n/2-n/3, more)
			copy(data[n/2-n/3:], more)
			t.same(t.hostReads(b), data, "%d bytes that the device updated", n)
		}
	}
}

func deviceReadAfterHostUpdate(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{1, 1000, 65_537} {
		data := t.random(n)
		b := t.holding(data)
		t.same(t.deviceReads(b, s), data, "%d bytes that the buffer was made from", n)
		for range 3 {
			more := t.random(n/2 + 1)
			t.hostUpdates(b, n/3, more)
			copy(data[n/3:], more)
			t.same(t.deviceReads(b, s), data, "%d bytes that the host updated", n)
			copy(data, t.random(n))
			t.hostWrites(b, data)
			t.same(t.deviceReads(b, s), data, "%d bytes that the host overwrote", n)
		}
	}
}

func readNeverWritten(t *trial) {
	const n = 5000
	s := t.stream(t.dev)
	nothing := make([]byte, n)
	// The bytes that earlier allocations left in the device's memory must not show.
	var used []*hal.Memory
	for range 8 {
		m, err := t.dev.Alloc(hal.KindDevice, n, 0)
		t.must(err, "allocate")
		t.must(s.Fill(m.All(), hal.Pattern8(0xDD)), "fill")
		used = append(used, m)
	}
	t.sync(s)
	for _, m := range used {
		t.must(m.Close(), "close")
	}
	for _, hostFirst := range []bool{true, false} {
		b := t.zeros(n)
		if hostFirst {
			t.same(t.hostReads(b), nothing, "never written, at the host")
		}
		t.same(t.deviceReads(b, s), nothing, "never written, at the device")
		t.same(t.hostReads(b), nothing, "never written, at the host")
		t.deviceWrites(b, s, t.random(n))
		t.must(b.Reset(), "discard")
		if !hostFirst {
			t.same(t.deviceReads(b, s), nothing, "discarded, at the device")
		}
		t.same(t.hostReads(b), nothing, "discarded, at the host")
		t.same(t.deviceReads(b, s), nothing, "discarded, at the device")
	}
	// A part that is written leaves the rest at zero.
	b := t.zeros(n)
	data := t.random(100)
	t.deviceWrites(t.part(b, 1000, 1100), s, data)
	want := make([]byte, n)
	copy(want[1000:], data)
	t.same(t.hostReads(b), want, "a part was written at the device")
	b = t.zeros(n)
	t.deviceUpdates(b, s, 1000, data)
	t.same(t.hostReads(b), want, "a part was updated at the device")
}

func overwriteTransfersNothing(t *trial) {
	const n = 4096
	s := t.stream(t.dev)
	b := t.zeros(n)
	data := t.random(n)
	t.costs(b, "a device overwrites what was never written", 0, 0, func() { t.deviceWrites(b, s, data) })
	t.costs(b, "the host overwrites what the device wrote", 0, 0, func() { t.hostWrites(b, data) })
	t.costs(b, "a device overwrites what the host wrote", 0, 0, func() { t.deviceWrites(b, s, data) })
	t.costs(b, "a device overwrites a part of its own", 0, 0, func() { t.deviceWrites(t.part(b, 10, 20), s, data[10:20]) })
	t.same(t.hostReads(b), data, "at the end")
}

func minimalTransfers(t *trial) {
	const n = 10_000
	s, o := t.stream(t.dev), t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	one := t.apart(n)
	t.costs(b, "the host reads its own", 0, 0, func() { t.hostReads(b) })
	t.costs(b, "a device reads what the host wrote", one, 0, func() { t.deviceReads(b, s) })
	t.costs(b, "it reads again", 0, 0, func() { t.deviceReads(b, s) })
	t.costs(b, "it reads on another stream", 0, 0, func() { t.deviceReads(b, o) })
	t.costs(b, "the host reads again", 0, 0, func() { t.hostReads(b) })
	t.costs(b, "the device updates what it has", 0, 0, func() { t.deviceUpdates(b, s, 0, data[:10]) })
	t.costs(b, "it updates again", 0, 0, func() { t.deviceUpdates(b, o, 0, data[:10]) })
	t.costs(b, "the host reads what the device updated", one, 0, func() { t.hostReads(b) })
	t.costs(b, "the host updates what it has", 0, 0, func() { t.hostUpdates(b, 0, data[:10]) })
	t.costs(b, "the device updates what the host wrote", one, 0, func() { t.deviceUpdates(b, s, 0, data[:10]) })
	t.costs(b, "the host updates what the device wrote", one, 0, func() { t.hostUpdates(b, 0, data[:10]) })
	t.costs(b, "two leases share one copy", one, 0, func() {
		first, second := t.lease(b, s, coherence.Read), t.lease(b, o, coherence.Read)
		t.must(first.Release(), "release")
		t.must(second.Release(), "release")
	})
	avoided := b.Stats().BytesAvoided
	t.hostReads(b)
	t.want(b.Stats().BytesAvoided == avoided+n, "a read that moves nothing counts %d bytes avoided, want %d", b.Stats().BytesAvoided-avoided, n)
	t.same(t.hostReads(b), data, "at the end")
	t.same(t.deviceReads(b, s), data, "at the end")
}

func unifiedCopiesNothing(t *trial) {
	if !t.dev.Info().SharesHostMemory {
		t.Skipf("the device is not unified")
	}
	const n = 100_000
	s := t.stream(t.dev)
	b := t.zeros(n)
	data := t.random(n)
	t.deviceWrites(b, s, data)
	t.same(t.hostReads(b), data, "what the device wrote")
	for i := range 5 {
		more := t.random(100)
		copy(data[i*100:], more)
		t.hostUpdates(b, i*100, more)
		t.same(t.deviceReads(b, s), data, "what the host wrote")
		more = t.random(100)
		copy(data[n/2+i*100:], more)
		t.deviceUpdates(b, s, n/2+i*100, more)
		t.same(t.hostReads(b), data, "what the device wrote")
	}
	if st := b.Stats(); st.Copies != 0 || st.BytesCopied != 0 {
		t.Errorf("%d copies of %d bytes between the host and a unified device", st.Copies, st.BytesCopied)
	}
}

// illegalRejected is about the table; bad arguments and exclusion have checks of their own.
func illegalRejected(t *trial) {
	const n = 256
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	t.refusesAccess(b, "mark a device modified that has no replica", func() error { return b.MarkModified(s) }, coherence.ErrConflict)
	t.refusesAccess(b, "evict the only replica there is", func() error { return b.Evict(t.ctx, nil) }, coherence.ErrSoleCopy)
	t.deviceReads(b, s)
	t.hostUpdates(b, 0, data[:1])
	if !t.dev.Info().SharesHostMemory {
		t.refusesAccess(b, "mark a stale replica modified", func() error { return b.MarkModified(s) }, coherence.ErrConflict)
		t.refusesAccess(b, "mark a part of a stale replica modified", func() error { return t.part(b, 3, 5).MarkModified(s) }, coherence.ErrConflict)
		t.deviceReads(t.part(b, 0, n/2), s)
		t.refusesAccess(b, "mark a replica modified that is half stale", func() error { return b.MarkModified(s) }, coherence.ErrConflict)
	}
	t.same(t.hostReads(b), data, "at the host")
	t.same(t.deviceReads(b, s), data, "at the device")
	empty := t.zeros(n)
	t.refusesAccess(empty, "mark modified what was never written", func() error { return empty.MarkModified(s) }, coherence.ErrConflict)
	t.same(t.deviceReads(empty, s), make([]byte, n), "never written")
}

func noElements(t *trial) {
	s := t.stream(t.dev)
	data := t.random(64)
	b := t.holding(data)
	for _, b := range []*bytesBuffer{t.holding(nil), t.zeros(0), t.part(b, 0, 0), t.part(b, 64, 64), t.part(b, 5, 5)} {
		for _, mode := range []coherence.Mode{coherence.Overwrite, coherence.Read, coherence.ReadWrite} {
			l, err := b.Acquire(t.ctx, s, mode)
			t.must(err, "acquire nothing")
			t.must(s.Fill(l.Region(), hal.Pattern8(1)), "fill nothing")
			t.must(l.Release(), "release nothing")
			t.must(b.Update(t.ctx, func(x []byte) error { t.want(len(x) == 0, "%d bytes", len(x)); return nil }), "update nothing")
		}
		t.must(b.MarkModified(s), "mark nothing")
		t.must(b.SyncTo(t.ctx, t.dev), "sync nothing")
		t.must(b.Reset(), "reset nothing")
	}
	t.same(t.hostReads(b), data, "around what was nothing")
	writer, err := b.Acquire(t.ctx, s, coherence.ReadWrite)
	t.must(err, "acquire")
	none, err := t.part(b, 5, 5).TryAcquire(s, coherence.ReadWrite)
	t.must(err, "acquire nothing beside a writer")
	t.must(none.Release(), "release nothing")
	t.must(writer.Release(), "release")
	t.same(t.hostReads(b), data, "after a writer")
}

func bufferBadArguments(t *trial) {
	const n = 64
	for what, call := range map[string]func() error{
		"negative elements": func() error { _, err := buffer.New[uint8](-1); return err },
		"lowest int":        func() error { _, err := buffer.New[uint64](math.MinInt); return err },
	} {
		t.refuses(hal.ErrInvalidArgument, what, call)
	}
	t.refuses(hal.ErrOutOfRange, "a size that overflows", func() error { _, err := buffer.New[complex128](math.MaxInt); return err })

	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	part := t.part(b, 8, 16)
	for _, x := range [][2]int{{-1, 4}, {0, n + 1}, {5, 4}, {n, n + 1}, {n + 1, n + 1}, {math.MinInt, math.MaxInt}, {0, math.MaxInt}} {
		t.refusesAccess(b, fmt.Sprintf("slice [%d, %d)", x[0], x[1]), func() error { _, err := b.Slice(x[0], x[1]); return err }, hal.ErrOutOfRange)
	}
	t.refusesAccess(b, "slice past the end of a slice", func() error { _, err := part.Slice(0, 9); return err }, hal.ErrOutOfRange)
	for what, call := range map[string]func() error{
		"view with nil":               func() error { return b.View(t.ctx, nil) },
		"update with nil":             func() error { return b.Update(t.ctx, nil) },
		"overwrite with nil":          func() error { return b.Overwrite(t.ctx, nil) },
		"acquire on no stream":        func() error { _, err := b.TryAcquire(nil, coherence.Read); return err },
		"acquire for eviction":        func() error { _, err := b.TryAcquire(s, coherence.Mode(protocol.Evict)); return err },
		"acquire for a reset":         func() error { _, err := b.TryAcquire(s, coherence.Mode(protocol.Reset)); return err },
		"acquire for a mark":          func() error { _, err := b.TryAcquire(s, coherence.Mode(protocol.MarkModified)); return err },
		"acquire for no mode":         func() error { _, err := b.TryAcquire(s, 99); return err },
		"prefetch on no stream":       func() error { return b.Prefetch(nil) },
		"mark modified on nothing":    func() error { return b.MarkModified(nil) },
		"memory of no device":         func() error { _, err := b.Memory(nil); return err },
		"evict a slice":               func() error { return part.Evict(t.ctx, t.dev) },
		"close a slice":               func() error { return part.Close() },
		"unfreeze what is not frozen": func() error { return b.Unfreeze() },
	} {
		t.refusesAccess(b, what, call, hal.ErrInvalidArgument)
	}
	t.refusesAccess(b, "memory of a device without a replica", func() error { _, err := b.Memory(t.dev); return err }, hal.ErrNotReady)
	t.same(t.hostReads(b), data, "at the host")
	t.same(t.deviceReads(b, s), data, "at the device")
}

func closedStream(t *trial) {
	const n = 64
	s, closed := t.stream(t.dev), t.stream(t.dev)
	t.must(closed.Close(), "close")
	data := t.random(n)
	b := t.holding(data)
	intact := func(what string) {
		t.same(t.hostReads(b), data, "at the host, %s", what)
		t.same(t.deviceReads(b, s), data, "at the device, %s", what)
	}
	acquire := func(mode coherence.Mode) func() error {
		return func() error {
			l, err := b.TryAcquire(closed, mode)
			if err == nil {
				_ = l.Release()
			}
			return err
		}
	}
	for _, c := range []struct {
		what string
		call func() error
	}{
		{"acquire for Read", acquire(coherence.Read)},
		{"acquire for ReadWrite", acquire(coherence.ReadWrite)},
		{"acquire for Overwrite", acquire(coherence.Overwrite)},
		{"prefetch", func() error { return b.Prefetch(closed) }},
		{"mark modified", func() error { return b.MarkModified(closed) }},
	} {
		what, call := c.what, c.call
		intact("before " + what)
		t.refusesAccess(b, what+" on a closed stream, both current", call, hal.ErrClosed)
		intact("after " + what)
		if what == "mark modified" {
			continue
		}
		copy(data, t.random(8))
		t.hostUpdates(b, 0, data[:8])
		t.refusesAccess(b, what+" on a closed stream, the device stale", call, hal.ErrClosed)
		intact("after " + what)
	}
}

func streamClosedUnderLease(t *trial) {
	const n = 64
	s, o := t.stream(t.dev), t.stream(t.dev)
	b := t.holding(t.random(n))
	l := t.lease(b, s, coherence.Overwrite)
	t.must(s.Fill(l.Region(), hal.Pattern8(1)), "fill")
	e := t.recorded(s)
	t.must(s.Close(), "close")
	t.must(e.Sync(t.ctx), "sync")
	t.wantKind(l.Release(), hal.ErrClosed, "release a lease whose stream was closed")
	t.want(l.Region().Mem == nil, "the lease has not ended")
	// What was written may be lost, but never wrong.
	var got []byte
	if err := b.View(t.ctx, func(v []byte) error { got = bytes.Clone(v); return nil }); err == nil {
		t.same(got, repeated(hal.Pattern8(1), n), "what was written before the stream was closed")
	}
	data := t.random(n)
	t.hostWrites(b, data)
	t.same(t.hostReads(b), data, "written anew")
	t.same(t.deviceReads(b, o), data, "written anew, at the device")
	data = t.random(n)
	t.deviceWrites(b, o, data)
	t.same(t.hostReads(b), data, "written anew by the device")
}

func closedBuffer(t *trial) {
	s := t.stream(t.dev)
	b, err := buffer.From(t.random(64))
	t.must(err, "new buffer")
	part := t.part(b, 8, 16)
	t.deviceReads(b, s)
	t.must(b.Close(), "close")
	t.must(b.Close(), "close again")
	t.eventually(func() bool { u := t.dev.Usage(); return u.Held == 0 && u.Pending == 0 }, "the replicas are given back")
	nothing := func([]byte) error { t.Errorf("a function was run on a closed buffer"); return nil }
	for _, x := range []*bytesBuffer{b, part} {
		for what, call := range map[string]func() error{
			"view":            func() error { return x.View(t.ctx, nothing) },
			"update":          func() error { return x.Update(t.ctx, nothing) },
			"overwrite":       func() error { return x.Overwrite(t.ctx, nothing) },
			"acquire":         func() error { _, err := x.TryAcquire(s, coherence.Read); return err },
			"acquire, wait":   func() error { _, err := x.Acquire(t.ctx, s, coherence.ReadWrite); return err },
			"prefetch":        func() error { return x.Prefetch(s) },
			"sync to device":  func() error { return x.SyncTo(t.ctx, t.dev) },
			"sync to host":    func() error { return x.SyncTo(t.ctx, nil) },
			"mark modified":   func() error { return x.MarkModified(s) },
			"memory":          func() error { _, err := x.Memory(t.dev); return err },
			"discard":         func() error { return x.Reset() },
			"clone":           func() error { _, err := x.Clone(t.ctx); return err },
			"freeze":          func() error { return x.Freeze() },
			"unfreeze":        func() error { return x.Unfreeze() },
			"view of a slice": func() error { return t.part(x, 0, 4).View(t.ctx, nothing) },
		} {
			t.refuses(hal.ErrClosed, what, call)
		}
	}
	t.refuses(hal.ErrClosed, "evict", func() error { return b.Evict(t.ctx, t.dev) })
}

func cancelledAccess(t *trial) {
	s := t.stream(t.dev)
	data := t.random(256)
	b := t.zeros(256)
	t.deviceWrites(b, s, data)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	nothing := func([]byte) error { t.Errorf("a function was run although the context had ended"); return nil }
	for what, call := range map[string]func() error{
		"view":           func() error { return b.View(ctx, nothing) },
		"update":         func() error { return b.Update(ctx, nothing) },
		"overwrite":      func() error { return b.Overwrite(ctx, nothing) },
		"acquire":        func() error { _, err := b.Acquire(ctx, s, coherence.ReadWrite); return err },
		"sync to host":   func() error { return b.SyncTo(ctx, nil) },
		"sync to device": func() error { return b.SyncTo(ctx, t.dev) },
		"evict":          func() error { return b.Evict(ctx, t.dev) },
		"clone":          func() error { _, err := b.Clone(ctx); return err },
	} {
		t.refusesAccess(b, what, call, hal.ErrNotReady, context.Canceled)
	}
	t.same(t.hostReads(b), data, "at the end")
}

func staleLease(t *trial) {
	s := t.stream(t.dev)
	data := t.random(64)
	b := t.holding(data)
	l := t.lease(b, s, coherence.ReadWrite)
	again := l
	t.want(l.Mode() == coherence.ReadWrite, "a lease for ReadWrite says %v", l.Mode())
	if t.dev.Caps().Has(hal.CapAddress) {
		t.want(l.Pointer() == l.Region().Mem.Handle()+uintptr(l.Region().Off), "the lease's pointer is %#x", l.Pointer())
	}
	t.must(l.Release(), "release")
	next := t.lease(b, s, coherence.Read) // may use the same slot
	for _, old := range []buffer.Lease{l, again, {}} {
		t.wantKind(old.Release(), hal.ErrClosed, "release a lease that is stale")
		t.want(old.Region().Mem == nil, "a stale lease has memory")
		t.want(old.Pointer() == 0, "a stale lease has a pointer")
	}
	t.want(next.Region().Mem != nil, "releasing a stale lease ended another one")
	t.must(next.Release(), "release")
	t.same(t.hostReads(b), data, "at the end")
}

func staleMark(t *trial) {
	if t.dev.Info().SharesHostMemory {
		t.Skipf("the replica of a unified device is the host's and never stale")
	}
	const n = 256
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	t.must(b.SyncTo(t.ctx, t.dev), "sync to the device")
	m, err := b.Memory(t.dev)
	t.must(err, "memory")
	copy(data, t.random(16))
	t.hostUpdates(b, 0, data[:16])
	// Both sides write: the device's write, to a stale replica, must not win.
	t.must(s.Fill(m, hal.Pattern8(0xBB)), "fill")
	t.refusesAccess(b, "mark the stale replica modified", func() error { return b.MarkModified(s) }, coherence.ErrConflict)
	t.sync(s)
	t.same(t.hostReads(b), data, "what the host wrote")
	t.same(t.deviceReads(b, s), data, "what the host wrote, at the device")
}

func markedWrite(t *trial) {
	const n = 4096
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	for i := range 4 {
		t.must(b.SyncTo(t.ctx, t.dev), "sync to the device")
		part := t.part(b, 100*i, 1000)
		m, err := part.Memory(t.dev)
		t.must(err, "memory")
		t.must(s.Fill(m, hal.Pattern8(uint8(i+1))), "fill")
		t.must(part.MarkModified(s), "mark modified")
		copy(data[100*i:1000], repeated(hal.Pattern8(uint8(i+1)), 1000-100*i))
		t.costs(b, "the host reads what was marked", t.apart(1000-100*i), 0, func() {
			t.same(t.hostReads(b), data, "round %d: at the host", i)
		})
		t.same(t.deviceReads(b, s), data, "round %d: at the device", i)
	}
}

func leaseExcludesWriter(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	data := t.random(64)
	b := t.holding(data)
	low, high := t.part(b, 0, 32), t.part(b, 32, 64)
	acquire := func(b *bytesBuffer, s *hal.Stream, mode coherence.Mode) func() error {
		return func() error {
			l, err := b.TryAcquire(s, mode)
			if err == nil {
				_ = l.Release()
			}
			return err
		}
	}
	ended := func() context.Context {
		ctx, cancel := context.WithTimeout(t.ctx, time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	nothing := func([]byte) error { return nil }
	writes := map[string]func() error{
		"acquire for ReadWrite": acquire(b, o, coherence.ReadWrite),
		"acquire for Overwrite": acquire(t.part(b, 31, 33), o, coherence.Overwrite),
		"mark modified":         func() error { return b.MarkModified(o) },
		"discard":               func() error { return b.Reset() },
		"close":                 func() error { return b.Close() },
	}
	t.deviceReads(b, s)

	reader := t.lease(low, s, coherence.Read)
	for what, call := range writes {
		t.refusesAccess(b, what+" beside a reader", call, coherence.ErrConflict, hal.ErrBusy)
	}
	t.refusesAccess(b, "update beside a reader", func() error { return b.Update(ended(), nothing) }, hal.ErrNotReady, context.DeadlineExceeded)
	t.must(acquire(b, o, coherence.Read)(), "a second reader")
	t.must(b.View(t.ctx, nothing), "view beside a reader")
	t.must(acquire(high, o, coherence.ReadWrite)(), "a writer of another range")
	t.must(high.Update(t.ctx, nothing), "an update of another range")
	t.must(reader.Release(), "release")

	t.deviceReads(b, s)
	writer := t.lease(high, s, coherence.ReadWrite)
	for what, call := range writes {
		t.refusesAccess(b, what+" beside a writer", call, coherence.ErrConflict, hal.ErrBusy)
	}
	t.refusesAccess(b, "a reader beside a writer", acquire(b, o, coherence.Read), coherence.ErrConflict, hal.ErrBusy)
	t.refusesAccess(b, "view beside a writer", func() error { return b.View(ended(), nothing) }, hal.ErrNotReady, context.DeadlineExceeded)
	t.refusesAccess(b, "prefetch beside a writer", func() error { return b.Prefetch(o) }, coherence.ErrConflict)
	t.refusesAccess(b, "freeze beside a writer", func() error { return b.Freeze() }, coherence.ErrConflict)
	t.must(acquire(low, o, coherence.Read)(), "a reader of another range")
	t.must(low.Update(t.ctx, nothing), "an update of another range")

	// Accesses that wait go on when the writer is done.
	viewed := make(chan error, 1)
	leased := make(chan error, 1)
	go func() { viewed <- b.View(t.ctx, nothing) }()
	go func() {
		l, err := b.Acquire(t.ctx, o, coherence.Read)
		if err == nil {
			err = l.Release()
		}
		leased <- err
	}()
	t.must(writer.Release(), "release")
	t.must(arrives(t, viewed, "the view goes on"), "view")
	t.must(arrives(t, leased, "the lease is given"), "acquire")

	// An access of the host excludes others in the same way.
	t.must(b.Update(t.ctx, func([]byte) error {
		t.refusesAccess(b, "a reader beside an update", acquire(b, o, coherence.Read), coherence.ErrConflict)
		return nil
	}), "update")
	t.must(b.View(t.ctx, func([]byte) error {
		t.refusesAccess(b, "a writer beside a view", acquire(b, o, coherence.Overwrite), coherence.ErrConflict)
		return nil
	}), "view")
	t.same(t.hostReads(b), data, "at the end")
}

func conflictNamesBothSides(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	b := t.holding(t.random(64))
	l := t.lease(t.part(b, 8, 24), s, coherence.ReadWrite)
	_, err := t.part(b, 16, 40).TryAcquire(o, coherence.Read)
	var c *buffer.ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("errors.As finds no *buffer.ConflictError in %v", err)
	}
	t.want(c.Holder.Action == coherence.ReadWrite.String() && c.Holder.Lo == 8 && c.Holder.Hi == 24, "the holder is %v", c.Holder)
	t.want(c.Requested.Action == coherence.Read.String() && c.Requested.Lo == 16 && c.Requested.Hi == 40, "the refused access is %v", c.Requested)
	t.want(c.Holder.Place == t.dev.Name() && c.Requested.Place == t.dev.Name(), "places %q and %q", c.Holder.Place, c.Requested.Place)
	t.want(c.Holder.Site != "", "the holder has no Site: %v", c)
	t.must(l.Release(), "release")
}

func frozenRejectsWrites(t *trial) {
	s := t.stream(t.dev)
	data := t.random(64)
	b := t.holding(data)
	t.must(b.Freeze(), "freeze")
	t.must(t.part(b, 0, 8).Freeze(), "freeze again, through a slice")
	nothing := func([]byte) error { t.Errorf("a function was run to write a frozen buffer"); return nil }
	frozen := func() {
		for what, call := range map[string]func() error{
			"update":        func() error { return b.Update(t.ctx, nothing) },
			"overwrite":     func() error { return t.part(b, 3, 9).Overwrite(t.ctx, nothing) },
			"acquire":       func() error { _, err := b.TryAcquire(s, coherence.ReadWrite); return err },
			"discard":       func() error { return b.Reset() },
			"mark modified": func() error { return b.MarkModified(s) },
		} {
			t.refusesAccess(b, what+" a frozen buffer", call, buffer.ErrFrozen)
		}
		t.same(t.deviceReads(b, s), data, "frozen, at the device")
		t.same(t.hostReads(b), data, "frozen, at the host")
	}
	frozen()
	t.must(b.Unfreeze(), "unfreeze")
	frozen()
	t.must(b.Unfreeze(), "unfreeze")
	data[0]++
	t.hostUpdates(b, 0, data[:1])
	t.same(t.deviceReads(b, s), data, "at the end")
}

func evictionKeeps(t *trial) {
	const n = 4096
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.zeros(n)
	t.deviceWrites(b, s, data)
	if t.dev.Info().SharesHostMemory {
		t.refusesAccess(b, "evict the only replica there is", func() error { return b.Evict(t.ctx, t.dev) }, coherence.ErrSoleCopy)
		t.same(t.hostReads(b), data, "at the host")
		return
	}
	t.costs(b, "evict what only the device has", n, 0, func() { t.must(b.Evict(t.ctx, t.dev), "evict") })
	t.want(b.Version(t.dev) == -1, "an evicted replica has version %d", b.Version(t.dev))
	t.eventually(func() bool { u := t.dev.Usage(); return u.Held == 0 && u.Pending == 0 }, "the device's memory is given back")
	t.same(t.hostReads(b), data, "rescued to the host")
	t.costs(b, "evict a replica that is not there", 0, 0, func() { t.must(b.Evict(t.ctx, t.dev), "evict") })
	t.same(t.deviceReads(b, s), data, "back at the device")
	t.costs(b, "evict what the host has too", 0, 0, func() { t.must(b.Evict(t.ctx, t.dev), "evict") })
	t.same(t.deviceReads(b, s), data, "back at the device")
	t.hostUpdates(b, 0, data[:1])
	t.costs(b, "evict the host's sole copy", n, 0, func() { t.must(b.Evict(t.ctx, nil), "evict") })
	t.same(t.deviceReads(b, s), data, "rescued to the device")
	t.same(t.hostReads(b), data, "and at the host again")
	// Now one half is current at the device alone, the other at the host alone.
	t.deviceWrites(t.part(b, 0, n/2), s, data[:n/2])
	t.hostUpdates(t.part(b, n/2, n), 0, data[n/2:])
	t.costs(b, "evict what is partly the device's alone", n/2, 0, func() { t.must(b.Evict(t.ctx, t.dev), "evict") })
	t.same(t.hostReads(b), data, "at the end")
}

func sliceAndParent(t *trial) {
	const n = 1000
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	set := func(off int, part []byte) []byte { copy(data[off:], part); return part }
	t.deviceWrites(t.part(b, 100, 200), s, set(100, t.random(100)))
	t.same(t.hostReads(b), data, "a slice was written at the device")
	t.hostUpdates(t.part(b, 150, 250), 0, set(150, t.random(100)))
	t.same(t.deviceReads(b, s), data, "a slice was written at the host")
	inner := t.part(t.part(b, 200, 600), 100, 200)
	t.want(inner.Len() == 100, "a slice of a slice has %d elements", inner.Len())
	t.deviceUpdates(inner, s, 50, set(350, t.random(50)))
	t.same(t.hostReads(inner), data[300:400], "a slice of a slice")
	t.same(t.hostReads(b), data, "after a slice of a slice was written at the device")
	// The device writes one slice and the host another: neither makes the rest stale or current.
	t.deviceWrites(t.part(b, 0, 10), s, set(0, t.random(10)))
	t.hostWrites(t.part(b, 990, 1000), set(990, t.random(10)))
	t.same(t.hostReads(t.part(b, 0, 10)), data[:10], "the device's slice, at the host")
	t.same(t.deviceReads(t.part(b, 990, 1000), s), data[990:], "the host's slice, at the device")
	t.same(t.hostReads(b), data, "at the host")
	t.same(t.deviceReads(b, s), data, "at the device")
}

func rangeWrite(t *trial) {
	n := t.Size(4<<20, 100_000)
	s := t.stream(t.dev)
	data := t.large(n)
	b := t.holding(data)
	t.deviceReads(b, s)
	for i := range 4 {
		lo, hi := n/5*i+i, n/5*i+1024+i
		more := t.random(hi - lo)
		copy(data[lo:], more)
		if i%2 == 0 {
			t.hostWrites(t.part(b, lo, hi), more)
			t.costs(b, "the device reads after the host wrote a range", t.apart(hi-lo), 0, func() {
				t.same(t.deviceReads(b, s), data, "round %d: at the device", i)
			})
		} else {
			t.deviceWrites(t.part(b, lo, hi), s, more)
			t.costs(b, "the host reads after the device wrote a range", t.apart(hi-lo), 0, func() {
				t.same(t.hostReads(b), data, "round %d: at the host", i)
			})
		}
	}
	// Reading a range copies the range.
	t.hostWrites(b, data)
	t.costs(b, "the device reads a range", t.apart(100), 0, func() {
		t.same(t.deviceReads(t.part(b, 500, 600), s), data[500:600], "a range")
	})
	t.costs(b, "the device reads more of it", t.apart(400), 0, func() {
		t.same(t.deviceReads(t.part(b, 400, 900), s), data[400:900], "a larger range")
	})
}

func cloneIndependent(t *trial) {
	const n = 1000
	s := t.stream(t.dev)
	for _, atDevice := range []bool{false, true} {
		data := t.random(n)
		b := t.zeros(n)
		if atDevice {
			t.deviceWrites(b, s, bytes.Clone(data)) // data changes below, while the copy may be under way
		} else {
			t.hostWrites(b, data)
		}
		for _, x := range [][2]int{{0, n}, {100, 300}} {
			c, err := t.part(b, x[0], x[1]).Clone(t.ctx)
			t.must(err, "clone")
			want := bytes.Clone(data[x[0]:x[1]])
			more := t.random(50)
			t.deviceUpdates(t.part(b, x[0], x[1]), s, 7, more)
			copy(data[x[0]+7:], more)
			t.same(t.hostReads(c), want, "the clone, after the original was written")
			t.same(t.deviceReads(c, s), want, "the clone at the device")
			t.hostWrites(c, make([]byte, len(want)))
			t.same(t.hostReads(b), data, "the original, after the clone was written")
			t.must(c.Close(), "close the clone")
		}
	}
	c, err := t.zeros(n).Clone(t.ctx)
	t.must(err, "clone what was never written")
	t.same(t.deviceReads(c, s), make([]byte, n), "a clone of what was never written")
	t.must(c.Close(), "close the clone")
}

func prefetchAndSyncTo(t *trial) {
	const n = 10_000
	s := t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	t.costs(b, "prefetch", t.apart(n), 0, func() { t.must(b.Prefetch(s), "prefetch") })
	t.costs(b, "read what was prefetched", 0, 0, func() { t.same(t.deviceReads(b, s), data, "at the device") })
	data = t.random(n)
	t.deviceWrites(b, s, data)
	t.costs(b, "sync to the host", t.apart(n), 0, func() { t.must(b.SyncTo(t.ctx, nil), "sync to the host") })
	t.costs(b, "read what was brought to the host", 0, 0, func() { t.same(t.hostReads(b), data, "at the host") })
	data = t.random(n)
	t.hostWrites(b, data)
	t.costs(b, "sync to the device", t.apart(n), 0, func() { t.must(b.SyncTo(t.ctx, t.dev), "sync to the device") })
	t.costs(b, "read what was brought to the device", 0, 0, func() { t.same(t.deviceReads(b, s), data, "at the device") })
	st := b.State()
	t.want(st.Name == "SYNCHRONIZED" || t.dev.Info().SharesHostMemory, "host and device are current and the state is %v", st.Name)
	t.want(b.Version(nil) == st.Version && b.Version(t.dev) == st.Version, "versions %d and %d of %d", b.Version(nil), b.Version(t.dev), st.Version)
}

func pageLockedHome(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{1, 1000, 100_000} {
		b, err := buffer.New[uint8](n, buffer.WithPinnedHost(t.dev))
		t.must(err, "new buffer")
		t.Cleanup(func() { t.must(b.Close(), "close buffer") })
		t.same(t.hostReads(b), make([]byte, n), "never written, at the host")
		t.same(t.deviceReads(b, s), make([]byte, n), "never written, at the device")
		for i := range 3 {
			data := t.random(n)
			t.hostWrites(b, data)
			t.same(t.deviceReads(b, s), data, "round %d: what the host wrote", i)
			more := t.random(n/2 + 1)
			t.deviceUpdates(b, s, n/4, more)
			copy(data[n/4:], more)
			t.same(t.hostReads(b), data, "round %d: what the device updated", i)
		}
	}
}

// company is the device under test and the others that the harness has, the host first as nil.
func (t *trial) company() []*hal.Device {
	devs := []*hal.Device{nil, t.dev}
	if t.peer != nil {
		devs = append(devs, t.peer)
	} else if t.p.Peer != nil {
		devs = append(devs, t.openWith("the peer", t.p.Peer))
	}
	if t.others != nil {
		return append(devs, t.others...)
	}
	for _, open := range t.p.Others {
		devs = append(devs, t.openWith("a device of another backend", open))
	}
	return devs
}

// agree makes each of the places write in turn and all of them read.
func (t *trial) agree(devs []*hal.Device) {
	const n = 2000
	streams := make([]*hal.Stream, len(devs))
	for i, d := range devs {
		if d != nil {
			streams[i] = t.stream(d)
		}
	}
	name := func(i int) string {
		if devs[i] == nil {
			return "the host"
		}
		return devs[i].Name()
	}
	data := t.random(n)
	b := t.holding(data)
	for round := range t.Size(4, 2) {
		for w := range devs {
			off := 100*w + round
			part := t.random(200)
			copy(data[off:], part)
			if devs[w] == nil {
				t.hostUpdates(b, off, part)
			} else {
				t.deviceUpdates(b, streams[w], off, part)
			}
			for _, r := range t.rng.Perm(len(devs)) {
				got := []byte(nil)
				if devs[r] == nil {
					got = t.hostReads(b)
				} else {
					got = t.deviceReads(b, streams[r])
				}
				t.same(got, data, "round %d: %s wrote, %s reads", round, name(w), name(r))
			}
		}
	}
}

func threePlaces(t *trial) {
	devs := t.company()
	if len(devs) < 3 {
		t.Skipf("only the host and one device")
	}
	t.agree(devs)
}

func crossBackendPlaces(t *trial) {
	for _, o := range t.others {
		t.agree([]*hal.Device{nil, t.dev, o})
		t.agree([]*hal.Device{o, t.dev})
	}
}

func crossStreamReadAfterWrite(t *trial) {
	const n = 4096
	a, c := t.stream(t.dev), t.stream(t.dev)
	b := t.zeros(n)
	for i := range 3 {
		p := hal.Pattern8(uint8(i + 1))
		g := t.shut(a)
		l := t.lease(b, a, coherence.Overwrite)
		t.must(a.Fill(l.Region(), p), "fill")
		t.must(l.Release(), "release")
		out := t.hostBytes(n)
		l = t.lease(b, c, coherence.Read)
		t.must(c.CopyOut(out, l.Region()), "copy out")
		t.must(l.Release(), "release")
		t.busy(c, "a read of what is still being written")
		viewed := make(chan []byte, 1)
		go func() {
			var v []byte
			_ = b.View(t.ctx, func(s []byte) error { v = bytes.Clone(s); return nil })
			viewed <- v
		}()
		t.letGo(g)
		t.sync(c)
		t.same(out, repeated(p, n), "round %d: on another stream", i)
		t.same(arrives(t, viewed, "the view"), repeated(p, n), "round %d: at the host", i)
	}
}

func crossDeviceReadAfterWrite(t *trial) {
	const n = 4096
	devs := t.company()[1:]
	if len(devs) < 2 {
		t.Skipf("only one device")
	}
	for _, w := range devs {
		for _, r := range devs {
			if w == r || !w.Caps().Has(hal.CapGate) {
				continue
			}
			writer, reader := t.stream(w), t.stream(r)
			b := t.zeros(n)
			t.deviceReads(b, reader)
			g := t.shut(writer)
			l := t.lease(b, writer, coherence.Overwrite)
			t.must(writer.Fill(l.Region(), hal.Pattern8(0x2f)), "fill")
			t.must(l.Release(), "release")
			t.must(t.lease(b, reader, coherence.Read).Release(), "release")
			e := t.recorded(reader)
			t.busy(e, "%s reads what %s is still writing", r.Name(), w.Name())
			t.letGo(g)
			t.must(e.Sync(t.ctx), "sync")
			t.same(t.deviceReads(b, reader), repeated(hal.Pattern8(0x2f), n), "%s reads what %s wrote", r.Name(), w.Name())
			t.same(t.hostReads(b), repeated(hal.Pattern8(0x2f), n), "the host reads what %s wrote", w.Name())
		}
	}
}

func writeAfterRead(t *trial) {
	const n = 4096
	a, c := t.stream(t.dev), t.stream(t.dev)
	old, next := t.random(n), t.random(n)
	b := t.holding(old)
	t.deviceReads(b, c)
	g := t.shut(a)
	out := t.hostBytes(n)
	l := t.lease(b, a, coherence.Read)
	t.must(a.CopyOut(out, l.Region()), "copy out")
	t.must(l.Release(), "release")
	from := t.hostBytes(n)
	copy(from, next)
	l = t.lease(b, c, coherence.Overwrite)
	t.must(c.CopyIn(l.Region(), from), "copy in")
	t.must(l.Release(), "release")
	t.busy(c, "a write of what is still being read")
	t.letGo(g)
	t.sync(a, c)
	t.same(out, old, "what the reader saw")
	t.same(t.hostReads(b), next, "what was written")
	if t.dev.Info().SharesHostMemory {
		// The host's replica is the device's: a host access waits as well.
		g := t.shut(a)
		l := t.lease(b, a, coherence.Read)
		t.must(a.CopyOut(out, l.Region()), "copy out")
		t.must(l.Release(), "release")
		short, cancel := context.WithTimeout(t.ctx, time.Millisecond)
		defer cancel()
		err := b.Update(short, func([]byte) error { return nil })
		t.wantKind(err, hal.ErrNotReady, "update of what is still being read")
		t.letGo(g)
		t.sync(a)
	}
}

func readersDoNotWait(t *trial) {
	const n = 4096
	a, c := t.stream(t.dev), t.stream(t.dev)
	data := t.random(n)
	b := t.holding(data)
	t.deviceReads(b, c)
	g := t.shut(a)
	l := t.lease(b, a, coherence.Read)
	held := t.hostBytes(n)
	t.must(a.CopyOut(held, l.Region()), "copy out")
	t.must(l.Release(), "release")
	t.same(t.deviceReads(b, c), data, "a second reader, while the first is held back")
	t.same(t.hostReads(b), data, "the host, while a reader is held back")
	t.busy(a, "the first reader")
	t.letGo(g)
	t.sync(a)
	t.same(held, data, "what the first reader saw")
}

func otherReplica(t *trial) {
	if t.dev.Info().SharesHostMemory {
		t.Skipf("the device is unified: there is no other replica")
	}
	const n = 4096
	a := t.stream(t.dev)
	old, next := t.random(n), t.random(n)
	b := t.holding(old)
	t.deviceReads(b, a)
	g := t.shut(a)
	l := t.lease(b, a, coherence.Read)
	held := t.hostBytes(n)
	t.must(a.CopyOut(held, l.Region()), "copy out")
	t.must(l.Release(), "release")
	t.hostWrites(b, next)
	t.same(t.hostReads(b), next, "the host wrote while a device reads its own replica")
	t.busy(a, "the reader")
	t.letGo(g)
	t.sync(a)
	t.same(held, old, "what the reader saw")
	t.same(t.deviceReads(b, a), next, "at the device, afterwards")
}

func viewHonoursContext(t *trial) {
	const n = 4096
	s := t.stream(t.dev)
	b := t.zeros(n)
	g := t.shut(s)
	l := t.lease(b, s, coherence.Overwrite)
	t.must(s.Fill(l.Region(), hal.Pattern8(0x99)), "fill")
	t.must(l.Release(), "release")
	for what, call := range map[string]func(context.Context) error{
		"view":         func(ctx context.Context) error { return b.View(ctx, func([]byte) error { return nil }) },
		"update":       func(ctx context.Context) error { return b.Update(ctx, func([]byte) error { return nil }) },
		"sync to host": func(ctx context.Context) error { return b.SyncTo(ctx, nil) },
	} {
		short, cancel := context.WithTimeout(t.ctx, time.Millisecond)
		err := call(short)
		t.wantKind(err, hal.ErrNotReady, "%s of what is held back", what)
		t.want(errors.Is(err, context.DeadlineExceeded), "%s: %q does not wrap context.DeadlineExceeded", what, err)
		cancel()
	}
	t.busy(s, "the writer")
	t.letGo(g)
	t.same(t.hostReads(b), repeated(hal.Pattern8(0x99), n), "after waits that were given up")
	t.same(t.deviceReads(b, s), repeated(hal.Pattern8(0x99), n), "at the device")
}

func closeBufferInFlight(t *trial) {
	const n = 4096
	s := t.stream(t.dev)
	b, err := buffer.From(t.random(n))
	t.must(err, "new buffer")
	out := t.hostBytes(n)
	g := t.shut(s)
	l := t.lease(b, s, coherence.ReadWrite)
	t.must(s.Fill(l.Region(), hal.Pattern8(0x3c)), "fill")
	t.must(s.CopyOut(out, l.Region()), "copy out")
	t.wantKind(t.closing(b), coherence.ErrConflict, "close a buffer with a lease")
	t.must(l.Release(), "release")
	t.must(b.Close(), "close")
	var later []*bytesBuffer
	for range 4 {
		x := t.zeros(n)
		t.hostWrites(x, make([]byte, n))
		later = append(later, x)
	}
	t.busy(s, "work on a buffer that was closed")
	t.letGo(g)
	t.sync(s)
	t.same(out, repeated(hal.Pattern8(0x3c), n), "what was written to a buffer that was closed meanwhile")
	for _, x := range later {
		t.same(t.hostReads(x), make([]byte, n), "a buffer made meanwhile")
	}
}

// closing closes b and wraps the error in a *hal.Error, which wantKind requires.
func (t *trial) closing(b *bytesBuffer) error {
	if err := b.Close(); err != nil {
		return &hal.Error{Op: "close", Device: -1, Kind: hal.ErrBusy, Err: err}
	}
	return nil
}

func failedCopy(t *trial) {
	f := t.faults()
	const n = 4096
	rescued := 0
	// try runs one access whose k-th driver call fails, and reports whether the access made k calls.
	try := func(k uint64, atDevice bool) bool {
		s := t.stream(t.dev)
		data := t.random(n)
		b := t.zeros(n)
		access := func() ([]byte, error) {
			if atDevice {
				out := []byte(nil)
				err := b.View(t.ctx, func(v []byte) error { out = bytes.Clone(v); return nil })
				return out, err
			}
			l, err := b.TryAcquire(s, coherence.Read)
			if err != nil {
				return nil, err
			}
			out := make([]byte, n)
			err = errors.Join(s.CopyOut(out, l.Region()), l.Release(), s.Sync(context.Background()))
			return out, err
		}
		if atDevice {
			t.deviceWrites(b, s, data)
			t.sync(s)
		} else {
			t.hostWrites(b, data)
		}
		f.Reset()
		f.FailCall(k)
		got, err := access()
		calls := f.CallCount()
		f.Reset()
		if err == nil {
			t.same(got, data, "driver call %d failed, and no error", k)
		}
		valid := standingOf(b).valid
		_ = s.Sync(context.Background())
		got, again := access()
		switch {
		case again == nil:
			t.same(got, data, "after driver call %d had failed", k)
			if err != nil {
				rescued++
			}
		case !errors.Is(again, hal.ErrDeviceLost) && err == nil:
			t.Errorf("driver call %d failed unnoticed, and then: %v", k, again)
		}
		t.want(valid != "" || again != nil, "driver call %d failed, and no replica is current", k)
		if again != nil {
			// Lost bytes stay lost until they are written anew.
			t.hostWrites(b, data)
			t.same(t.deviceReads(b, s), data, "written anew after driver call %d had failed", k)
			t.same(t.hostReads(b), data, "written anew after driver call %d had failed", k)
		}
		return calls >= k
	}
	for _, atDevice := range []bool{false, true} {
		for k := uint64(1); try(k, atDevice); k++ {
			t.want(k < 1000, "no access makes so many driver calls")
		}
	}
	t.want(rescued > 0, "no failure left the source current")
}

func failureUnderWay(t *trial) {
	broken := t.breakdown()
	if t.dev.Info().SharesHostMemory {
		t.Skipf("nothing is copied to a unified device")
	}
	const n = 4096
	s := t.stream(t.dev)
	read := func(b *bytesBuffer) error {
		l, err := b.TryAcquire(s, coherence.Read)
		if err == nil {
			err = l.Release()
		}
		return err
	}
	drained := func(streams ...*hal.Stream) {
		for _, s := range streams {
			_ = s.Sync(context.Background()) // reports the failure too
		}
	}

	// A copy to the device. The access that needs it may fail at once, or the next access does.
	data := t.random(n)
	b := t.holding(data)
	broken(true)
	err := read(b)
	drained(s)
	broken(false)
	if err == nil {
		err = read(b)
	}
	t.want(err != nil, "the copy to the device failed, and the next access did not")
	valid := standingOf(b).valid
	t.want(valid == "host", "the copy to the device failed, and the places that are current are %q", valid)
	t.same(t.deviceReads(b, s), data, "on the device, after a copy had failed")
	t.same(t.hostReads(b), data, "on the host, after a copy to the device had failed")

	// A copy from the device.
	data = t.random(n)
	t.deviceWrites(b, s, data)
	t.sync(s)
	broken(true)
	err = b.View(t.ctx, func([]byte) error { return nil })
	broken(false)
	t.want(err != nil, "the copy to the host failed, and the access that waits for it did not")
	t.same(t.hostReads(b), data, "on the host, after a copy had failed")
	t.same(t.deviceReads(b, s), data, "on the device, after a copy to the host had failed")

	// After the transfer that a write depends on has failed, what was written is lost.
	b = t.holding(data)
	broken(true)
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	drained(s)
	broken(false)
	if err == nil {
		r := l.Region()
		r.Len = 4
		t.must(s.Fill(r, hal.Zero), "fill")
		t.must(l.Release(), "release")
		err = b.View(t.ctx, func([]byte) error { return nil })
		t.want(err != nil, "a write was accepted although the transfer before it failed")
		err = b.View(t.ctx, func([]byte) error { return nil })
		t.want(errors.Is(err, hal.ErrDeviceLost), "what was written after a failed transfer is not lost: %v", err)
		t.hostWrites(b, data)
	}
	t.same(t.hostReads(b), data, "written anew")
	t.same(t.deviceReads(b, s), data, "written anew")

}

func failureCopiedOn(t *trial) {
	broken := t.breakdown()
	const n = 4096
	s, o := t.stream(t.dev), t.stream(t.peer)
	data := t.random(n)
	b := t.holding(data)
	broken(true)
	_ = b.Prefetch(s)
	broken(false)
	// A failure of the first copy that is not known yet spreads to the second.
	_ = b.Prefetch(o)
	for _, x := range []*hal.Stream{s, o} {
		_ = x.Sync(context.Background())
	}
	var err error
	for range 8 {
		if err = b.Prefetch(o); err == nil {
			break
		}
	}
	t.must(err, "prefetch again and again")
	t.same(t.deviceReads(b, o), data, "on the peer, after a copy to the device had failed")
	t.same(t.hostReads(b), data, "on the host, after a copy to the peer had failed")
}

func oversubscribed(t *trial) {
	const count = 16
	n := t.Size(256<<10, 16<<10)
	buffer.SetBudget(t.dev, uint64(2*n))
	s, o := t.stream(t.dev), t.stream(t.dev)
	var bufs [count]*bytesBuffer
	var want [count][]byte
	for i := range bufs {
		want[i] = t.random(n)
		bufs[i] = t.holding(want[i])
	}
	for round := range 3 {
		for _, i := range t.rng.Perm(count) {
			part := t.random(64)
			off := t.rng.IntN(n - 64)
			copy(want[i][off:], part)
			use := s
			if i%2 == 0 {
				use = o
			}
			t.deviceUpdates(bufs[i], use, off, part)
			if used := buffer.ResidencyOf(t.dev).Used; used > uint64(2*n) {
				t.Errorf("round %d: replicas take %d bytes of a budget of %d", round, used, 2*n)
			}
		}
		for _, i := range t.rng.Perm(count) {
			t.same(t.deviceReads(bufs[i], s), want[i], "round %d: buffer %d at the device", round, i)
		}
	}
	for i, b := range bufs {
		t.same(t.hostReads(b), want[i], "buffer %d at the host", i)
	}
	// A replica under a lease stays on the device, and an access that finds no room fails.
	if t.dev.Info().SharesHostMemory {
		return
	}
	first, second := t.lease(bufs[0], s, coherence.Read), t.lease(bufs[1], s, coherence.Read)
	_, err := bufs[2].TryAcquire(s, coherence.Read)
	t.wantKind(err, hal.ErrOutOfMemory, "a third lease where two fit")
	t.must(first.Release(), "release")
	t.must(second.Release(), "release")
	t.same(t.deviceReads(bufs[2], s), want[2], "once there is room")
}

func manyGoroutines(t *trial) {
	const n = workers * 4
	devs := t.company()
	b := t.zeros(n)
	rounds := t.Size(60, 20)
	t.together(workers, func(w int) {
		mine, err := b.Slice(w*4, w*4+4)
		t.must(err, "slice")
		dev := devs[w%len(devs)]
		var s *hal.Stream
		if dev != nil {
			s, err = dev.NewStream()
			t.must(err, "new stream")
			defer s.Close()
		}
		for i := range rounds {
			if dev == nil || i%3 == 0 {
				t.must(mine.Update(t.ctx, func(v []byte) error { v[0]++; v[3]--; return nil }), "update")
				continue
			}
			l, err := mine.Acquire(t.ctx, s, coherence.ReadWrite)
			t.must(err, "acquire")
			v := make([]byte, 4)
			t.must(s.CopyOut(v, l.Region()), "copy out")
			t.must(s.Sync(t.ctx), "sync")
			v[0]++
			v[3]--
			t.must(s.CopyIn(l.Region(), v), "copy in")
			t.must(l.Release(), "release")
			// Each goroutine reads the whole buffer now and then.
			if i%7 == 0 {
				t.must(b.View(t.ctx, func([]byte) error { return nil }), "view")
			}
		}
	})
	want := make([]byte, n)
	for w := range workers {
		want[w*4], want[w*4+3] = byte(rounds), byte(-rounds)
	}
	t.same(t.hostReads(b), want, "after %d updates of each range", rounds)
}
