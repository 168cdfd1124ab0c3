// Package image reads the kernels and their parameters from compiled code, without any driver. It reads PTX text, NVIDIA's cubins,
// AMD's code objects, and bundles of code objects.
//
// The input may be damaged or hostile. Everything is checked against the bounds of the data, and time and memory are at most
// proportional to the size of the data.
package image

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// Read returns the kernels of an image by name: their parameters and the block that they require. Drivers report everything else about a
// kernel, but not every version of a driver reports these. The map is nil if the format does not describe kernels, or describes them in a
// way that this package does not know. If the image is damaged, cut short or of another format, the error is of kind ErrInvalidArgument: a
// driver is not told how long an image is, and would read beyond its end. For PTX, which ends at a zero byte, the error is nil. In a bundle
// of several images, the description of a kernel contains only what is the same in all of them.
//
// Code objects say whether a parameter of 8 bytes is a number or a pointer. In the other formats this is known only if the compiler
// recorded it.
func Read(format driver.Format, data []byte) (map[string]*driver.KernelInfo, error) {
	switch format {
	case driver.FormatPTX:
		return readPTX(data), nil
	case driver.FormatCubin:
		return readCubin(data)
	case driver.FormatFatbin:
		return nil, checkFatbin(data)
	case driver.FormatCodeObject:
		return readObjects(data)
	}
	return nil, nil
}

func damaged(what, format string, args ...any) error {
	return &driver.Error{Op: "read image", Device: -1, Kind: driver.ErrInvalidArgument,
		Detail: "the " + what + " is damaged: " + fmt.Sprintf(format, args...)}
}

// checkFatbin checks the header and that the image is complete. It does not read the contents, which usually are compressed.
func checkFatbin(data []byte) error {
	const what, magic, least = "fatbin", 0xba55ed50, 16
	r := reader{data: data}
	if r.u32(0) != magic || len(data) < least {
		return damaged(what, "it does not begin with the bytes of a fatbin")
	}
	if header, size := uint64(r.u16(6)), r.u64(8); header < least || size > uint64(len(data)) || header+size > uint64(len(data)) {
		return damaged(what, "its header says that it has %d+%d bytes, but it has %d", header, size, len(data))
	}
	return nil
}

// reader reads little-endian numbers. Beyond the end it reads zeros.
type reader struct{ data []byte }

func (r reader) at(off uint64, n int) uint64 {
	if off > uint64(len(r.data)) || uint64(n) > uint64(len(r.data))-off {
		return 0
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(r.data[off+uint64(i)])
	}
	return v
}

func (r reader) u16(off uint64) uint16 { return uint16(r.at(off, 2)) }
func (r reader) u32(off uint64) uint32 { return uint32(r.at(off, 4)) }
func (r reader) u64(off uint64) uint64 { return r.at(off, 8) }

// slice returns n bytes at off. ok is false if they are not all there.
func (r reader) slice(off, n uint64) (b []byte, ok bool) {
	if off > uint64(len(r.data)) || n > uint64(len(r.data))-off {
		return nil, false
	}
	return r.data[off : off+n : off+n], true
}

// text returns the text at off, up to its zero byte.
func (r reader) text(off uint64) (s []byte, ok bool) {
	if off >= uint64(len(r.data)) {
		return nil, false
	}
	n := bytes.IndexByte(r.data[off:], 0)
	if n < 0 {
		return nil, false
	}
	return r.data[off : off+uint64(n)], true
}

// merge removes from a what is different in b.
func merge(a, b *driver.KernelInfo) {
	if !b.Known || !slices.Equal(a.Params, b.Params) {
		a.Params, a.Known = nil, false
	}
	if a.RequiredBlock != b.RequiredBlock {
		a.RequiredBlock = [3]uint32{}
	}
}
