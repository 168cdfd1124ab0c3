package conformance

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

var fillChecks = []Check{
	{Name: "Pattern1", Rule: "A pattern of one byte is repeated.", run: func(t *trial) { fills(t, hal.Pattern8(0xc7)) }},
	{Name: "Pattern2", Rule: "A pattern of two bytes is repeated, the low byte first.", run: func(t *trial) { fills(t, hal.Pattern16(0xc7a1)) }},
	{Name: "Pattern4", Rule: "A pattern of four bytes is repeated, the low byte first.", run: func(t *trial) { fills(t, hal.Pattern32(0xc7a15b02)) }},
	{Name: "Pattern8", Rule: "A pattern of eight bytes is repeated, the low byte first.", run: func(t *trial) { fills(t, hal.Pattern64(0xc7a15b02_93de4f68)) }},
	{Name: "HighBitsIgnored", Rule: "Only the low Width bytes of a pattern count.", run: fillHighBits},
	{Name: "OffsetLengthMatrix", Rule: "Fills of every length work at every offset that is a multiple of the pattern's width.", run: fillMatrix},
	{Name: "Large", Rule: "A fill of many megabytes is complete.", run: largeFill},
	{Name: "PatternNotDividingLengthRejected", Rule: "A fill whose offset or length is not a multiple of the pattern's width is misaligned.", run: fillMisaligned},
	{Name: "BadPatternWidthRejected", Rule: "A pattern width other than 1, 2, 4 or 8 bytes is an invalid argument.", run: fillBadWidth},
	{Name: "NeighboursUntouched", Rule: "A fill changes no byte beside its region.", run: fillNeighbours},
}

func fills(t *trial, p hal.Pattern) {
	const n = 4096
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, n)
		t.put(m, 0, t.random(n))
		t.must(s.Fill(m.All(), p), "fill")
		t.sync(s)
		t.same(t.all(m), repeated(p, n), "%v memory filled with %d bytes", k, p.Width)
	}
}

func fillHighBits(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	for _, w := range []uint8{1, 2, 4, 8} {
		p := hal.Pattern{Bits: 0x8877665544332211, Width: w}
		t.must(s.Fill(m.All(), p), "fill")
		t.sync(s)
		t.same(t.all(m), repeated(p, 64), "%d bytes wide", w)
	}
}

func fillMatrix(t *trial) {
	const size = 9 << 10
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, size)
	for _, p := range []hal.Pattern{hal.Pattern8(0x3d), hal.Pattern16(0x3d51), hal.Pattern32(0x3d51e702), hal.Pattern64(0x3d51e702_11223344)} {
		w := int(p.Width)
		for _, off := range []int{0, 1, 3, 64} {
			for _, n := range []int{1, 2, 3, 7, 64, 65, 1000} {
				before := t.random(size)
				t.must(s.CopyIn(m.All(), before), "copy in")
				t.must(s.Fill(region(m, off*w, n*w), p), "fill")
				out := make([]byte, size)
				t.must(s.CopyOut(out, m.All()), "copy out")
				t.sync(s)
				copy(before[off*w:], repeated(p, n*w))
				t.same(out, before, "%d patterns of %d bytes at %d", n, w, off*w)
			}
		}
	}
}

func largeFill(t *trial) {
	n := t.Size(64<<20, 2<<20)
	n = int(min(uint64(n), t.dev.Info().MaxAlloc, t.dev.Info().TotalMemory/4)) &^ 7
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, n)
	for _, p := range []hal.Pattern{hal.Pattern8(0x11), hal.Pattern32(0x51e70264), hal.Pattern64(0x0102030405060708)} {
		t.must(s.Fill(m.All(), p), "fill")
		t.sync(s)
		t.same(t.all(m), repeated(p, n), "%d bytes filled with %d", n, p.Width)
	}
}

func fillMisaligned(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	for _, p := range []hal.Pattern{hal.Pattern16(1), hal.Pattern32(1), hal.Pattern64(1)} {
		w := int(p.Width)
		for _, r := range [][2]int{{0, w + 1}, {0, w - 1}, {1, w}, {w / 2, w}, {w + 1, 0}, {1, 1000 * w}} {
			t.refuses(hal.ErrMisaligned, fmt.Sprintf("%d bytes at %d with %d", r[1], r[0], w), func() error {
				return s.Fill(region(m, r[0], r[1]), p)
			}, m)
		}
	}
}

func fillBadWidth(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	for _, w := range []uint8{0, 3, 5, 6, 7, 9, 16, 255} {
		t.refuses(hal.ErrInvalidArgument, fmt.Sprintf("a pattern of %d bytes", w), func() error {
			return s.Fill(m.All(), hal.Pattern{Bits: 1, Width: w})
		}, m)
		t.refuses(hal.ErrInvalidArgument, fmt.Sprintf("nothing with a pattern of %d bytes", w), func() error {
			return s.Fill(region(m, 0, 0), hal.Pattern{Bits: 1, Width: w})
		}, m)
	}
}

func fillNeighbours(t *trial) {
	const size, off = 512, 104
	s := t.stream(t.dev)
	for _, p := range []hal.Pattern{hal.Pattern8(0xee), hal.Pattern16(0xeedd), hal.Pattern32(0xeeddccbb), hal.Pattern64(0xeeddccbbaa998877)} {
		for _, n := range []int{8, 16, 40, 200} {
			for _, k := range kinds(t.dev) {
				before := t.random(size)
				m := t.memory(t.dev, k, size)
				t.put(m, 0, before)
				t.must(s.Fill(region(m, off, n), p), "fill")
				t.sync(s)
				want := slices.Clone(before)
				copy(want[off:], repeated(p, n))
				t.same(t.all(m), want, "%d bytes of %v memory filled with %d", n, k, p.Width)
			}
		}
	}
}
