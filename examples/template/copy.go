package template

import (
	"encoding/binary"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// pieceSize is the most bytes that are in the host's memory at once.
const pieceSize = 256 << 10

// Copy implements driver.Stream. dst and src have the same length, more than 0, lie inside their memories and do
// not overlap. It guarantees:
//
//   - any two kinds of memory of the device, at any byte;
//   - no byte outside dst changes;
//   - the work takes its turn in the stream. The call returns at once; a failure that shows later is reported by Query and
//     Sync, and by events recorded after it.
//
// The types need no check: package hal passes a device only its own memory, and that of devices which driver.Peering allows.
func (s *stream) Copy(dst, src driver.Region) error {
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	return s.enqueue("copy", func() error {
		switch {
		case from.host != nil:
			return to.write(dst.Off, from.host[src.Off:][:src.Len])
		case to.host != nil:
			return from.read(to.host[dst.Off:][:dst.Len], src.Off)
		}
		// REPLACE with the vendor's copy within the device, if there is one.
		piece := make([]byte, min(src.Len, pieceSize))
		for off := uint64(0); off < src.Len; off += uint64(len(piece)) {
			piece = piece[:min(uint64(len(piece)), src.Len-off)]
			if err := from.read(piece, src.Off+off); err != nil {
				return err
			}
			if err := to.write(dst.Off+off, piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// CopyIn implements driver.Stream. src is host memory of any origin that stays where it is, and unchanged, until the
// work is done; it may lie in KindHost memory of this or another device. Two capabilities are promises about it:
//
//   - CapAsyncCopy: the call does not block for page-locked src;
//   - CapOrderedPageable: src is read when the work's turn comes, even if it is not page-locked. If the vendor may read it
//     during the call, as CUDA may, the bit is not set.
//
// A Go pointer that is handed to C needs more: runtime.Pinner, or a copy into page-locked memory.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	m, b := dst.Mem.(*memory), unsafe.Slice((*byte)(src), dst.Len)
	return s.enqueue("copy in", func() error { return m.write(dst.Off, b) })
}

// CopyOut implements driver.Stream, under the rules of CopyIn.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	m, b := src.Mem.(*memory), unsafe.Slice((*byte)(dst), src.Len)
	return s.enqueue("copy out", func() error { return m.read(b, src.Off) })
}

// Fill implements driver.Stream. The pattern is the low p.Width bytes of p.Bits, the lowest first; the other bits are
// ignored. The width is 1, 2, 4 or 8, and dst.Off and dst.Len are multiples of it.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	m := dst.Mem.(*memory)
	return s.enqueue("fill", func() error {
		piece := make([]byte, min(dst.Len, pieceSize))
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], p.Bits)
		for n := copy(piece, word[:p.Width]); n < len(piece); n *= 2 {
			copy(piece[n:], piece[:n])
		}
		for off := uint64(0); off < dst.Len; off += uint64(len(piece)) {
			piece = piece[:min(uint64(len(piece)), dst.Len-off)]
			if err := m.write(dst.Off+off, piece); err != nil {
				return err
			}
		}
		return nil
	})
}
