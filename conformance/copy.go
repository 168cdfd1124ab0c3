package conformance

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

var copyChecks = []Check{
	{Name: "HostToDevice", Rule: "CopyIn copies the host's bytes to the region, in every kind of memory.", run: hostToDevice},
	{Name: "DeviceToHost", Rule: "CopyOut copies the region's bytes to the host and does not change the region.", run: deviceToHost},
	{Name: "DeviceToDevice", Rule: "Copy moves bytes between any two kinds of memory of the device.", run: deviceToDevice},
	{Name: "SizeAlignmentMatrix", Rule: "Copies of every size work at every offset, to the byte.", run: sizeAlignmentMatrix},
	{Name: "Large", Rule: "A copy of hundreds of megabytes is complete.", run: largeCopy},
	{Name: "LengthsAroundPowersOfTwo", Rule: "Copies and fills are complete if they are one byte longer or shorter than a power of two or a multiple of one.", run: lengthsAround},
	{Name: "BetweenKinds", Rule: "Copies between any two kinds of memory are complete, up to a million bytes and one.", run: betweenKinds},
	{Name: "FarOffsets", Rule: "Copies and fills far into a large memory reach the offset that they name, and no other.", run: farOffsets},
	{Name: "OffsetsBeyond32Bits", Rule: "Copies, fills and kernels reach offsets beyond 4 GiB, and leave the bytes alone that lie 4 GiB before.", run: farOffset},
	{Name: "LengthsBeyond32Bits", Rule: "Copies and fills of more than 4 GiB are complete.", run: farLength},
	{Name: "NeighboursUntouched", Rule: "A copy changes no byte beside its destination, on the device and on the host.", run: copyNeighbours},
	{Name: "NilSlice", Rule: "A nil slice is an empty one: it is accepted for a region of no bytes and refused for any other.", run: nilSlice},
	{Name: "NilMemory", Rule: "A region without a memory is an invalid argument.", run: nilMemory},
	{Name: "LengthMismatchRejected", Rule: "A copy between regions of different lengths is an invalid argument.", run: lengthMismatch},
	{Name: "SelfSame", Rule: "A copy of a region onto itself is refused.", run: selfSame},
	{Name: "SelfOverlapForward", Rule: "A copy to an overlapping region at a higher offset is refused.", run: selfOverlapForward},
	{Name: "SelfOverlapBackward", Rule: "A copy to an overlapping region at a lower offset is refused.", run: selfOverlapBackward},
	{Name: "SelfDisjoint", Rule: "Regions of one memory that do not overlap can be copied to each other.", run: selfDisjoint},
	{Name: "Adjacent", Rule: "Regions that touch do not overlap.", run: adjacent},
	{Name: "PeerDirect", Rule: "A stream copies to and from the memory of a device that its own device can access.", NeedsPeer: true, run: peerDirect},
	{Name: "PeerInOrder", Rule: "A copy to or from another device runs in stream order.", Needs: hal.CapGate, NeedsPeer: true, run: peerInOrder},
	{Name: "PeerSeesLatest", Rule: "A copy from or to another device's memory sees what was last written there, whichever device wrote it.", NeedsPeer: true, run: peerSeesLatest},
	{Name: "PeerStaged", Rule: "CopyPeer copies between two devices of one backend, whether or not they can access each other.", NeedsPeer: true, run: peerStaged},
	{Name: "CrossBackend", Rule: "CopyPeer copies between devices of different backends.", NeedsOther: true, run: crossBackend},
	{Name: "WrongDeviceRejected", Rule: "A stream refuses memory of a device that its own device cannot access.", run: wrongDevice},
	{Name: "SourceReusableAfterWrite", Rule: "When Write returns, or a CopyIn is done, the source may change.", run: sourceReusable},
	{Name: "ThroughHostInOrder", Rule: "Copies touch pageable host memory in stream order.", Needs: hal.CapOrderedPageable | hal.CapGate, run: throughHostInOrder},
	{Name: "ZeroLength", Rule: "A copy of no bytes is allowed anywhere within a memory, its end included, and does nothing.", run: zeroLength},
	{Name: "ZeroLengthPastEndRejected", Rule: "A copy of no bytes beyond the end is out of range.", run: zeroLengthPastEnd},
	{Name: "ZeroLengthOnClosedRejected", Rule: "A copy of no bytes of closed memory, or on a closed stream, is refused as closed.", run: zeroLengthOnClosed},
}

func hostToDevice(t *trial) {
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		b := t.random(10_000)
		m := t.memory(t.dev, k, len(b))
		t.must(s.CopyIn(m.All(), b), "copy in")
		t.sync(s)
		t.same(t.all(m), b, "%v memory", k)
	}
}

func deviceToHost(t *trial) {
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		b := t.random(10_000)
		m := t.memory(t.dev, k, len(b))
		t.put(m, 0, b)
		for range 2 {
			out := make([]byte, len(b))
			t.must(s.CopyOut(out, m.All()), "copy out")
			t.sync(s)
			t.same(out, b, "%v memory", k)
		}
	}
}

func deviceToDevice(t *trial) {
	s := t.stream(t.dev)
	for _, from := range kinds(t.dev) {
		for _, to := range kinds(t.dev) {
			b, before := t.random(10_000), t.random(10_000)
			src, dst := t.memory(t.dev, from, len(b)), t.memory(t.dev, to, len(b))
			t.put(src, 0, b)
			t.put(dst, 0, before)
			t.must(s.Copy(dst.All(), src.All()), "copy from %v to %v memory", from, to)
			t.sync(s)
			t.same(t.all(dst), b, "destination, %v to %v memory", from, to)
			t.same(t.all(src), b, "source, %v to %v memory", from, to)
		}
	}
}

func sizeAlignmentMatrix(t *trial) {
	sizes := []int{0, 1, 3, 63, 64, 65, 4095, 4096, 4097, t.Size(1<<20+1, 70_001)}
	offsets := []int{0, 1, 7}
	most := slices.Max(sizes) + slices.Max(offsets)
	s := t.stream(t.dev)
	a, c := t.memory(t.dev, hal.KindDevice, most), t.memory(t.dev, hal.KindDevice, most)
	for _, n := range sizes {
		for _, from := range offsets {
			for _, to := range offsets {
				b, out := t.random(n+from), make([]byte, n+to)
				t.must(s.CopyIn(region(a, from, n), b[from:]), "copy in")
				t.must(s.Copy(region(c, to, n), region(a, from, n)), "copy")
				t.must(s.CopyOut(out[to:], region(c, to, n)), "copy out")
				t.sync(s)
				t.same(out[to:], b[from:], "%d bytes from offset %d to %d", n, from, to)
			}
		}
	}
}

func largeCopy(t *trial) {
	n := uint64(t.Size(256<<20, 4<<20))
	i := t.dev.Info()
	n = min(n, i.MaxAlloc, i.TotalMemory/4)
	b := t.large(int(n))
	s := t.stream(t.dev)
	a, c := t.memory(t.dev, hal.KindDevice, int(n)), t.memory(t.dev, hal.KindDevice, int(n))
	t.must(s.CopyIn(a.All(), b), "copy in")
	t.must(s.Copy(c.All(), a.All()), "copy")
	out := make([]byte, n)
	t.must(s.CopyOut(out, c.All()), "copy out")
	t.sync(s)
	t.same(out, b, "%d bytes", n)
}

// lengthsAround tries lengths at which a copy that is made in pieces may lose the last piece, or a byte of it.
func lengthsAround(t *trial) {
	sizes := []int{3 << 18, 5 << 18}
	for n := 256; n <= t.Size(4<<20, 1<<20); n *= 2 {
		sizes = append(sizes, n)
	}
	most := int(min(uint64(slices.Max(sizes)+2), t.dev.Info().MaxAlloc, t.dev.Info().TotalMemory/8))
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		a, b := t.memory(t.dev, hal.KindDevice, most), t.memory(t.dev, k, most)
		data, in, out, filled := t.large(most), make([]byte, most), make([]byte, most), make([]byte, most)
		for round, size := range sizes {
			for _, n := range []int{size - 1, size, size + 1} {
				if n >= most || k != hal.KindDevice && n > 1<<19+1 {
					continue
				}
				copy(in[:n], data[most-n:])
				in[n-1] = byte(round) // the last bytes differ from what was there
				in[n-1] ^= 0x5a
				last := in[n-1]
				t.must(s.Fill(region(b, 0, n+1), hal.Pattern8(^last)), "fill")
				t.must(s.CopyIn(region(a, 0, n), in[:n]), "copy in")
				t.must(s.Copy(region(b, 0, n), region(a, 0, n)), "copy")
				t.must(s.CopyOut(out[:n+1], region(b, 0, n+1)), "copy out")
				t.must(s.Copy(region(a, 0, n), region(b, 0, n)), "copy back")
				t.must(s.CopyIn(region(b, 0, n), in[:n]), "copy in")
				t.must(s.Fill(region(b, 0, n), hal.Pattern8(last+1)), "fill")
				t.must(s.CopyOut(filled[:n+1], region(b, 0, n+1)), "copy out")
				t.sync(s)
				want := append(in[:n:n], ^last)
				t.same(out[:n+1], want, "%d bytes in, to %v memory and out", n, k)
				t.same(filled[:n+1], append(repeated(hal.Pattern8(last+1), n), ^last), "%d bytes of %v memory filled", n, k)
				t.same(t.get(a, 0, n), in[:n], "%d bytes from %v memory", n, k)
			}
		}
		t.must(a.Close(), "close")
		t.must(b.Close(), "close")
	}
}

// betweenKinds copies lengths beyond those at which a copy may be made in pieces, between every two kinds of memory.
func betweenKinds(t *trial) {
	s := t.stream(t.dev)
	for _, from := range kinds(t.dev) {
		for _, to := range kinds(t.dev) {
			for _, n := range []int{64<<10 + 1, 256<<10 + 1, 1<<20 + 1} {
				b := t.large(n)
				src, dst := t.memory(t.dev, from, n+1), t.memory(t.dev, to, n+1)
				t.must(s.Fill(dst.All(), hal.Pattern8(^b[n-1])), "fill")
				t.must(s.CopyIn(region(src, 0, n), b), "copy in")
				t.must(s.Copy(region(dst, 0, n), region(src, 0, n)), "copy")
				t.sync(s)
				t.same(t.all(dst), append(b, ^b[n-1]), "%d bytes from %v to %v memory", n, from, to)
				t.must(src.Close(), "close")
				t.must(dst.Close(), "close")
			}
		}
	}
}

// farOffsets works around each power of two, where an offset that has lost its high bits would show.
func farOffsets(t *trial) {
	size := int(min(16<<20+4096, t.dev.Info().MaxAlloc, t.dev.Info().TotalMemory/3))
	const n = 600
	s := t.stream(t.dev)
	data := t.large(size)
	for _, k := range kinds(t.dev) {
		src, dst := t.memory(t.dev, hal.KindDevice, size), t.memory(t.dev, k, size)
		t.put(src, 0, data)
		t.must(s.Fill(dst.All(), hal.Pattern8(0x11)), "fill")
		want := repeated(hal.Pattern8(0x11), size)
		for at := 1 << 12; at+3*n < size; at *= 2 {
			in, out := t.random(n), make([]byte, n)
			t.must(s.Fill(region(dst, at-2*n, n), hal.Pattern8(0x77)), "fill below %d", at)
			t.must(s.Copy(region(dst, at-n/2, n), region(src, at/2, n)), "copy to %d", at)
			t.must(s.Copy(region(dst, at+n/2, n/2), region(src, at+n, n/2)), "copy beyond %d", at)
			t.must(s.Copy(region(dst, at/2+n, n), region(src, at-n/3, n)), "copy from %d", at)
			t.must(s.CopyIn(region(dst, at+n, n), in), "copy in beyond %d", at)
			t.must(s.CopyOut(out, region(src, at-3, n)), "copy out around %d", at)
			t.must(s.Fill(region(dst, at+2*n, n/2), hal.Pattern8(0x99)), "fill beyond %d", at)
			t.sync(s)
			t.same(out, data[at-3:at-3+n], "copied out around %d", at)
			copy(want[at-2*n:], repeated(hal.Pattern8(0x77), n))
			copy(want[at-n/2:], data[at/2:at/2+n])
			copy(want[at+n/2:], data[at+n:at+n+n/2])
			copy(want[at/2+n:], data[at-n/3:at-n/3+n])
			copy(want[at+n:], in)
			copy(want[at+2*n:], repeated(hal.Pattern8(0x99), n/2))
		}
		t.same(t.all(dst), want, "%d bytes of %v memory", size, k)
		// The other way, from that memory, which host and device may reach in different ways.
		for at := 1 << 12; at+3*n < size; at *= 2 {
			out := make([]byte, n)
			t.must(s.Copy(region(src, at-n/2, n), region(dst, at+n/2, n)), "copy from %v memory beyond %d", k, at)
			t.must(s.CopyOut(out, region(dst, at+5, n)), "copy out of %v memory beyond %d", k, at)
			t.sync(s)
			copy(data[at-n/2:], want[at+n/2:at+n/2+n])
			t.same(out, want[at+5:at+5+n], "copied out of %v memory beyond %d", k, at)
		}
		t.same(t.all(src), data, "%d bytes, copied to from %v memory", size, k)
		t.must(s.Copy(dst.All(), src.All()), "copy all of %d bytes", size)
		t.sync(s)
		t.same(t.all(dst), data, "all of %d bytes, copied to %v memory", size, k)
		t.must(s.Fill(dst.All(), hal.Pattern8(0x33)), "fill all of %d bytes", size)
		t.sync(s)
		t.same(t.all(dst), repeated(hal.Pattern8(0x33), size), "all of %d bytes of %v memory, filled", size, k)
		t.must(src.Close(), "close")
		t.must(dst.Close(), "close")
	}
}

func copyNeighbours(t *trial) {
	const size, off = 512, 100
	s := t.stream(t.dev)
	for _, n := range []int{1, 3, 8, 13, 64, 200} {
		for _, k := range kinds(t.dev) {
			before, b := t.random(size), t.random(size)
			m, src := t.memory(t.dev, k, size), t.filled(t.dev, b)
			want := slices.Clone(before)
			copy(want[off:off+n], b[off:off+n])

			t.put(m, 0, before)
			t.must(s.CopyIn(region(m, off, n), b[off:off+n]), "copy in")
			t.sync(s)
			t.same(t.all(m), want, "copy in of %d bytes, %v memory", n, k)

			t.put(m, 0, before)
			t.must(s.Copy(region(m, off, n), region(src, off, n)), "copy")
			t.sync(s)
			t.same(t.all(m), want, "copy of %d bytes, %v memory", n, k)

			out := slices.Clone(before)
			t.must(s.CopyOut(out[off:off+n], region(src, off, n)), "copy out")
			t.sync(s)
			t.same(out, want, "the host's bytes after a copy out of %d", n)
		}
	}
}

func nilSlice(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	t.must(s.CopyIn(region(m, 8, 0), nil), "copy in of nothing")
	t.must(s.CopyOut(nil, region(m, 8, 0)), "copy out of nothing")
	t.sync(s)
	t.refuses(hal.ErrInvalidArgument, "copy in from nil", func() error { return s.CopyIn(region(m, 8, 4), nil) }, m)
	t.refuses(hal.ErrInvalidArgument, "copy out to nil", func() error { return s.CopyOut(nil, region(m, 8, 4)) }, m)
	t.refuses(hal.ErrInvalidArgument, "write from nil", func() error { return t.dev.Write(t.ctx, region(m, 8, 4), nil) }, m)
	t.refuses(hal.ErrInvalidArgument, "read to nil", func() error { return t.dev.Read(t.ctx, nil, region(m, 8, 4)) }, m)
}

func nilMemory(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	none := hal.Region{Len: 64}
	b := make([]byte, 64)
	for what, call := range map[string]func() error{
		"copy to nothing":           func() error { return s.Copy(none, m.All()) },
		"copy from nothing":         func() error { return s.Copy(m.All(), none) },
		"copy in to nothing":        func() error { return s.CopyIn(none, b) },
		"copy out of nothing":       func() error { return s.CopyOut(b, none) },
		"fill nothing":              func() error { return s.Fill(none, hal.Zero) },
		"use nothing":               func() error { return s.RecordUse(nil) },
		"copy across to nothing":    func() error { return hal.CopyPeer(s, none, s, m.All()) },
		"copy across from nothing":  func() error { return hal.CopyPeer(s, m.All(), s, none) },
		"copy across on no streams": func() error { return hal.CopyPeer(nil, m.All(), nil, m.All()) },
	} {
		t.refuses(hal.ErrInvalidArgument, what, call, m)
	}
}

func lengthMismatch(t *trial) {
	s := t.stream(t.dev)
	m, o := t.filled(t.dev, t.random(64)), t.filled(t.dev, t.random(64))
	b := make([]byte, 64)
	for what, call := range map[string]func() error{
		"copy":        func() error { return s.Copy(region(m, 0, 8), region(o, 0, 9)) },
		"copy of 0":   func() error { return s.Copy(region(m, 0, 0), region(o, 0, 1)) },
		"copy in":     func() error { return s.CopyIn(region(m, 0, 8), b[:7]) },
		"copy out":    func() error { return s.CopyOut(b[:9], region(m, 0, 8)) },
		"write":       func() error { return t.dev.Write(t.ctx, region(m, 0, 8), b) },
		"read":        func() error { return t.dev.Read(t.ctx, b, region(m, 0, 8)) },
		"copy across": func() error { return hal.CopyPeer(s, region(m, 0, 8), s, region(o, 0, 9)) },
	} {
		t.refuses(hal.ErrInvalidArgument, what, call, m, o)
	}
}

// overlaps checks that copies of n bytes within one memory are refused.
func overlaps(t *trial, pairs [][2]int, n int) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(256))
	for _, p := range pairs {
		t.refuses(hal.ErrOverlap, fmt.Sprintf("%d bytes from %d to %d", n, p[0], p[1]), func() error {
			return s.Copy(region(m, p[1], n), region(m, p[0], n))
		}, m)
	}
	t.sync(s)
}

func selfSame(t *trial) { overlaps(t, [][2]int{{0, 0}, {7, 7}, {156, 156}}, 100) }

func selfOverlapForward(t *trial) { overlaps(t, [][2]int{{0, 1}, {0, 50}, {0, 99}, {57, 156}}, 100) }

func selfOverlapBackward(t *trial) { overlaps(t, [][2]int{{1, 0}, {50, 0}, {99, 0}, {156, 57}}, 100) }

// moves checks copies of n bytes within one memory against the built-in copy.
func moves(t *trial, pairs [][2]int, n int) {
	s := t.stream(t.dev)
	for _, p := range pairs {
		b := t.random(256)
		m := t.filled(t.dev, b)
		t.must(s.Copy(region(m, p[1], n), region(m, p[0], n)), "copy from %d to %d", p[0], p[1])
		t.sync(s)
		copy(b[p[1]:p[1]+n], b[p[0]:p[0]+n])
		t.same(t.all(m), b, "%d bytes from %d to %d", n, p[0], p[1])
	}
}

func selfDisjoint(t *trial) { moves(t, [][2]int{{0, 200}, {200, 0}, {3, 101}, {101, 3}}, 50) }

func adjacent(t *trial) { moves(t, [][2]int{{0, 100}, {100, 0}, {56, 156}, {156, 56}}, 100) }

func peerDirect(t *trial) {
	d, p := t.dev, t.peer
	if !d.CanAccessPeer(p) && !p.CanAccessPeer(d) {
		t.Skipf("%s and %s cannot access each other's memory", d.Name(), p.Name())
	}
	for _, pair := range [][2]*hal.Device{{d, p}, {p, d}} {
		at, far := pair[0], pair[1]
		if !at.CanAccessPeer(far) {
			continue
		}
		s := t.stream(at)
		b, c := t.random(9001), t.random(9001)
		near, away := t.filled(at, b), t.filled(far, c)
		third := t.filled(far, t.random(9001))
		kept := t.all(third)
		t.must(s.Copy(region(away, 1, 9000), region(near, 0, 9000)), "copy from %s to %s", at.Name(), far.Name())
		t.sync(s)
		copy(c[1:], b[:9000])
		t.same(t.all(away), c, "destination at %s", far.Name())
		t.same(t.all(near), b, "source at %s", at.Name())
		t.must(s.Copy(region(near, 0, 5), region(away, 100, 5)), "copy from %s to %s", far.Name(), at.Name())
		t.sync(s)
		copy(b[:5], c[100:105])
		t.same(t.all(near), b, "destination at %s", at.Name())
		t.same(t.all(third), kept, "memory beside, at %s", far.Name())
	}
}

func peerInOrder(t *trial) {
	if !t.dev.CanAccessPeer(t.peer) {
		t.Skipf("%s cannot access the memory of %s", t.dev.Name(), t.peer.Name())
	}
	n := t.Size(1<<20, 256<<10)
	s := t.stream(t.dev)
	data := t.large(n)
	near, far := t.memory(t.dev, hal.KindDevice, n), t.memory(t.peer, hal.KindDevice, n)
	out := t.hostBytes(n)
	for i := range 4 {
		data[i]++
		t.put(far, 0, data)
		g := t.shut(s)
		t.must(s.Fill(near.All(), hal.Zero), "fill")
		t.must(s.Copy(near.All(), far.All()), "copy")
		t.must(s.CopyOut(out, near.All()), "copy out")
		t.must(s.Copy(far.All(), near.All()), "copy back")
		t.must(s.Fill(near.All(), hal.Pattern8(0xFF)), "fill")
		t.busy(s, "copies between devices behind a shut gate")
		t.letGo(g)
		t.sync(s)
		t.same(out, data, "round %d: read after the copy from the peer", i)
		t.same(t.all(far), data, "round %d: copied back before the last fill", i)
	}
}

// peerSeesLatest writes a memory in every way that there is, and reads it in every way after each: a device that keeps a copy of another's
// memory has to notice all of them.
func peerSeesLatest(t *trial) {
	const n = 5000
	for _, pair := range [][2]*hal.Device{{t.dev, t.peer}, {t.peer, t.dev}} {
		own, other := pair[0], pair[1]
		near, far := t.stream(own), t.stream(other)
		m := t.filled(own, t.random(n))
		beside, away, back := t.memory(own, hal.KindDevice, n), t.memory(other, hal.KindDevice, n), t.memory(other, hal.KindDevice, n)
		b := make([]byte, n)
		type way struct {
			what string
			do   func() error
		}
		// Each way of writing makes m hold the bytes of b.
		writes := []way{
			{"copied in", func() error { return near.CopyIn(m.All(), b) }},
			{"written", func() error { return own.Write(t.ctx, m.All(), b) }},
			{"filled", func() error { copy(b, repeated(hal.Pattern8(b[0]), n)); return near.Fill(m.All(), hal.Pattern8(b[0])) }},
			{"copied from memory beside", func() error { t.put(beside, 0, b); return near.Copy(m.All(), beside.All()) }},
			{"copied across", func() error { t.put(away, 0, b); return hal.CopyPeer(near, m.All(), far, away.All()) }},
		}
		// Each way of reading copies m's bytes to back.
		reads := []way{{"copied across", func() error { return hal.CopyPeer(far, back.All(), near, m.All()) }}}
		if own.CanAccessPeer(other) {
			writes = append(writes, way{"pulled", func() error { t.put(away, 0, b); return near.Copy(m.All(), away.All()) }})
			reads = append(reads, way{"pushed", func() error { return near.Copy(back.All(), m.All()) }})
		}
		if other.CanAccessPeer(own) {
			writes = append(writes, way{"pushed", func() error { t.put(away, 0, b); return far.Copy(m.All(), away.All()) }})
			reads = append(reads, way{"pulled", func() error { return far.Copy(back.All(), m.All()) }})
		}
		for _, before := range reads {
			for _, w := range writes {
				for _, after := range reads {
					t.must(before.do(), "%s", before.what)
					t.sync(near, far)
					copy(b, t.random(n))
					t.must(w.do(), "%s", w.what)
					t.sync(near, far)
					t.must(after.do(), "%s", after.what)
					t.sync(near, far)
					t.same(t.all(back), b, "%s's memory, %s by %s, then %s, then %s", own.Name(), before.what, other.Name(), w.what, after.what)
					t.same(t.all(m), b, "%s's memory, %s", own.Name(), w.what)
				}
			}
		}
	}
}

// across copies bytes from one device to the other and back with CopyPeer.
func (t *trial) across(a, b *hal.Device) {
	sa, sb := t.stream(a), t.stream(b)
	for _, n := range []int{1, 4097, t.Size(9<<20+5, 300_001)} {
		data, before := t.large(n), t.large(n+20)
		first, there, back := t.filled(a, data), t.filled(b, before), t.memory(a, hal.KindDevice, n)
		t.must(hal.CopyPeer(sb, region(there, 10, n), sa, first.All()), "copy from %s to %s", a.Name(), b.Name())
		t.must(hal.CopyPeer(sa, back.All(), sb, region(there, 10, n)), "copy from %s to %s", b.Name(), a.Name())
		t.sync(sa, sb)
		t.same(t.all(back), data, "%d bytes from %s to %s and back", n, a.Name(), b.Name())
		copy(before[10:], data)
		t.same(t.all(there), before, "%d bytes at %s", n, b.Name())
		t.same(t.all(first), data, "source of %d bytes at %s", n, a.Name())
	}
}

func peerStaged(t *trial) { t.across(t.dev, t.peer) }

func crossBackend(t *trial) {
	for _, o := range t.others {
		if o.Info().Backend == t.dev.Info().Backend {
			t.Fatalf("Harness.Others has %s, which is of the backend under test", o.Name())
		}
		t.across(t.dev, o)
		t.across(o, t.dev)
	}
}

func wrongDevice(t *trial) {
	var far []*hal.Device
	for _, open := range append(t.p.Others, t.p.Peer) {
		if open == nil {
			continue
		}
		if d := t.openWith("another device", open); !t.dev.CanAccessPeer(d) {
			far = append(far, d)
		}
	}
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	b := make([]byte, 64)
	for _, d := range far {
		o := t.filled(d, t.random(64))
		for what, call := range map[string]func() error{
			"copy to it":       func() error { return s.Copy(o.All(), m.All()) },
			"copy from it":     func() error { return s.Copy(m.All(), o.All()) },
			"empty copy to it": func() error { return s.Copy(region(o, 0, 0), region(m, 0, 0)) },
			"copy past its end": func() error {
				return s.Copy(o.Region(0, 99), m.Region(0, 99))
			},
		} {
			t.refuses(hal.ErrWrongDevice, what, call, m, o)
		}
	}
	// Some calls work only on streams of the memory's own device. They are refused even between devices that can access each other.
	others := far
	if t.p.Peer != nil {
		others = append(others, t.openWith("the peer", t.p.Peer))
	}
	others = append(others, t.separate())
	for _, d := range others {
		o := t.filled(d, t.random(64))
		for what, call := range map[string]func() error{
			"copy in to it":         func() error { return s.CopyIn(o.All(), b) },
			"copy out of it":        func() error { return s.CopyOut(b, o.All()) },
			"fill it":               func() error { return s.Fill(o.All(), hal.Zero) },
			"write to it":           func() error { return t.dev.Write(t.ctx, o.All(), b) },
			"read from it":          func() error { return t.dev.Read(t.ctx, b, o.All()) },
			"copy across, reversed": func() error { return hal.CopyPeer(s, o.All(), s, m.All()) },
		} {
			t.refuses(hal.ErrWrongDevice, what, call, m, o)
		}
	}
}

func sourceReusable(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{1, 4096, t.Size(8<<20, 200_000)} {
		b := t.large(n)
		want := slices.Clone(b)
		m := t.memory(t.dev, hal.KindDevice, n)
		t.must(t.dev.Write(t.ctx, m.All(), b), "write")
		clear(b)
		t.same(t.all(m), want, "%d bytes after Write", n)
		copy(b, want)
		b[0]++
		want[0]++
		t.must(s.CopyIn(m.All(), b), "copy in")
		t.sync(s)
		clear(b)
		t.same(t.all(m), want, "%d bytes after CopyIn and Sync", n)
	}
}

func throughHostInOrder(t *trial) {
	const n = 5000
	s := t.stream(t.dev)
	data := t.random(n)
	m, to := t.filled(t.dev, data), t.filled(t.dev, make([]byte, n))
	b := make([]byte, n)
	g := t.shut(s)
	t.must(s.CopyOut(b, m.All()), "copy out")
	t.must(s.CopyIn(to.All(), b), "copy in")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(to), data, "through the host and back, on one stream")
}

// edges returns calls on the empty region of m at off.
func (t *trial) edges(s *hal.Stream, m, o *hal.Memory, off uint64) map[string]func() error {
	at := m.Region(off, 0)
	return map[string]func() error{
		"copy to":   func() error { return s.Copy(at, o.Region(0, 0)) },
		"copy from": func() error { return s.Copy(o.Region(0, 0), at) },
		"copy in":   func() error { return s.CopyIn(at, []byte{}) },
		"copy out":  func() error { return s.CopyOut([]byte{}, at) },
		"fill":      func() error { return s.Fill(at, hal.Pattern8(9)) },
		"write":     func() error { return t.dev.Write(t.ctx, at, nil) },
		"read":      func() error { return t.dev.Read(t.ctx, nil, at) },
		"across":    func() error { return hal.CopyPeer(s, at, s, o.Region(0, 0)) },
	}
}

func zeroLength(t *trial) {
	s := t.stream(t.dev)
	b := t.random(64)
	m, o := t.filled(t.dev, b), t.filled(t.dev, b)
	for _, off := range []uint64{0, 1, 63, 64} {
		for what, call := range t.edges(s, m, o, off) {
			t.must(call(), "%s, no bytes at %d", what, off)
		}
		t.must(s.Copy(m.Region(off, 0), m.Region(off, 0)), "copy of no bytes onto themselves")
	}
	t.sync(s)
	t.same(t.all(m), b, "after copies of no bytes")
	t.same(t.all(o), b, "after copies of no bytes")
}

func zeroLengthPastEnd(t *trial) {
	s := t.stream(t.dev)
	m, o := t.filled(t.dev, t.random(64)), t.filled(t.dev, t.random(64))
	for _, off := range []uint64{65, 4096, 1 << 63, 1<<64 - 1} {
		for what, call := range t.edges(s, m, o, off) {
			t.refuses(hal.ErrOutOfRange, fmt.Sprintf("%s, no bytes at %d of 64", what, off), call, m, o)
		}
	}
}

func zeroLengthOnClosed(t *trial) {
	s := t.stream(t.dev)
	m, o := t.filled(t.dev, t.random(64)), t.filled(t.dev, t.random(64))
	gone := t.memory(t.dev, hal.KindDevice, 64)
	t.must(gone.Close(), "close")
	for _, off := range []uint64{0, 64, 65} {
		for what, call := range t.edges(s, gone, o, off) {
			t.refuses(hal.ErrClosed, fmt.Sprintf("%s, no bytes of closed memory at %d", what, off), call, o)
		}
	}
	closed := t.stream(t.dev)
	t.must(closed.Close(), "close")
	for what, call := range t.edges(closed, m, o, 0) {
		if what != "write" && what != "read" {
			t.refuses(hal.ErrClosed, what+", no bytes on a closed stream", call, m, o)
		}
	}
}
