package filebackend

import (
	"encoding/binary"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// pieceSize is the most bytes that are in the host's memory at once.
const pieceSize = 256 << 10

// Copy implements driver.Stream. The memories may be of different devices of this package.
func (s *stream) Copy(dst, src driver.Region) error {
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	return s.enqueue(func() error {
		switch {
		case from.host != nil:
			return to.write(dst.Off, from.host[src.Off:][:src.Len])
		case to.host != nil:
			return from.read(to.host[dst.Off:][:dst.Len], src.Off)
		}
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

// CopyIn implements driver.Stream. src is read when the work's turn comes.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	m, b := dst.Mem.(*memory), unsafe.Slice((*byte)(src), dst.Len)
	return s.enqueue(func() error { return m.write(dst.Off, b) })
}

// CopyOut implements driver.Stream. dst is written when the work's turn comes.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	m, b := src.Mem.(*memory), unsafe.Slice((*byte)(dst), src.Len)
	return s.enqueue(func() error { return m.read(b, src.Off) })
}

// Fill implements driver.Stream.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	m := dst.Mem.(*memory)
	return s.enqueue(func() error {
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
