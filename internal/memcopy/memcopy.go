package memcopy

import (
	"encoding/binary"
	"unsafe"
)

// fillBlock is the size of the block, filled with the pattern, that a fill copies over and over: small enough for the first-level cache.
const fillBlock = 8 << 10

// Copy copies n bytes from src to dst. The two ranges must not overlap. It returns when the copy is done. Until then src must stay readable
// and dst writable. The memory may be on the Go heap or outside it.
func Copy(dst, src unsafe.Pointer, n uint64) {
	if n < least {
		move(dst, src, n)
		return
	}
	classOf(n).copy(task{dst: dst, src: src, n: n})
}

// Move is Copy for ranges that may overlap: two objects may stand for the same host memory.
func Move(dst, src unsafe.Pointer, n uint64) {
	if d, s := uintptr(dst), uintptr(src); n < least || d < s+uintptr(n) && s < d+uintptr(n) {
		move(dst, src, n)
		return
	}
	Copy(dst, src, n)
}

// Fill repeats the low width bytes of bits, least significant byte first, over n bytes at dst. The width is 1, 2, 4 or 8; any other counts
// as 8. If n is not a multiple of the width, the last repetition is cut short. dst needs no alignment.
func Fill(dst unsafe.Pointer, n, bits uint64, width uint8) {
	word := repeat(bits, width)
	if n < least {
		fill(dst, n, word)
		return
	}
	p := classOf(n).plan()
	p.run(task{dst: dst, n: n, word: word})
}

// repeat fills 64 bits with the low width bytes of bits.
func repeat(bits uint64, width uint8) uint64 {
	switch width {
	case 1:
		return bits & 0xff * 0x0101010101010101
	case 2:
		return bits & 0xffff * 0x0001000100010001
	case 4:
		return bits & 0xffffffff * 0x0000000100000001
	}
	return bits
}

func move(dst, src unsafe.Pointer, n uint64) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// streamBlock is the unit of streamBlocks: eight pages of 4 KiB, copied side by side.
const streamBlock = 8 * 4096

// streamMove copies with streamBlocks as far as alignment and size allow, the rest with move.
func streamMove(dst, src unsafe.Pointer, n uint64) {
	if head := uint64(-uintptr(dst) & 63); head > 0 && head < n {
		move(dst, src, head)
		dst, src, n = unsafe.Add(dst, head), unsafe.Add(src, head), n-head
	}
	if uintptr(dst)&63 == 0 && n > streamBlock {
		whole := (n - 1) / streamBlock // leaves some for move, so that no pointer is past the end
		streamBlocks(dst, src, whole)
		dst, src, n = unsafe.Add(dst, whole*streamBlock), unsafe.Add(src, whole*streamBlock), n-whole*streamBlock
	}
	move(dst, src, n)
}

func fill(dst unsafe.Pointer, n, word uint64) {
	b := unsafe.Slice((*byte)(dst), n)
	if word == 0 {
		clear(b)
		return
	}
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], word)
	laid := copy(b, seed[:])
	for laid < len(b) && laid < fillBlock {
		laid += copy(b[laid:], b[:laid])
	}
	for block := b[:laid]; laid < len(b); {
		laid += copy(b[laid:], block)
	}
}
