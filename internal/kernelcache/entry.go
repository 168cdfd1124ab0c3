package kernelcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// An entry begins with a header:
//
//	magic     8 bytes
//	schema    uint16
//	length    uint64, bytes after the header
//	checksum  32 bytes, SHA-256 of what follows
//
// After it come
//
//	key       32 bytes, so that an entry in the file of another key is detected
//	format    uint8
//	options   string
//	kernels   uint32, and for each, sorted by name: its name, the number of its parameters, and for each of these
//	          name, kind (uint8), size (uint32), const (uint8, 0 or 1)
//	image     the rest
//
// Numbers are little-endian; a string is a uint32 with its length, and its bytes. There is one encoding of an image, and no other is accepted.
const (
	schema = 1
	magic  = "HALYKERN"

	lengthAt   = 8 + 2
	sumAt      = lengthAt + 8
	headerSize = sumAt + sha256.Size

	leastKernel = 4 + 4         // bytes of a kernel without name and parameters
	leastParam  = 4 + 1 + 4 + 1 // bytes of a parameter without a name

	maxEntry = 1 << 30 // bytes; a longer file is damaged
)

// sizeOf returns how many bytes the entry of an image has.
func sizeOf(img *driver.Image) int64 {
	n := int64(headerSize) + int64(len(Key{})) + 1 + 4 + int64(len(img.Options)) + 4 + int64(len(img.Data))
	for name, params := range img.Params {
		n += leastKernel + int64(len(name))
		for i := range params {
			n += leastParam + int64(len(params[i].Name))
		}
	}
	return n
}

// encode returns the entry of an image. The entry must not be longer than maxEntry.
func encode(key Key, img *driver.Image) []byte {
	b := make([]byte, headerSize, sizeOf(img))
	b = append(b, key[:]...)
	b = append(b, byte(img.Format))
	b = appendString(b, img.Options)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(img.Params)))
	for _, name := range slices.Sorted(maps.Keys(img.Params)) {
		params := img.Params[name]
		b = appendString(b, name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(params)))
		for i := range params {
			p := &params[i]
			b = appendString(b, p.Name)
			b = append(b, byte(p.Kind))
			b = binary.LittleEndian.AppendUint32(b, p.Size)
			if p.Const {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	}
	b = append(b, img.Data...)
	seal(b)
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// seal writes the header of an entry.
func seal(b []byte) {
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[len(magic):], schema)
	binary.LittleEndian.PutUint64(b[lengthAt:], uint64(len(b)-headerSize))
	sum := sha256.Sum256(b[headerSize:])
	copy(b[sumAt:], sum[:])
}

// plausible reports whether the header can be that of an entry of size bytes. It does not look at the checksum.
func plausible(header []byte, size int64) bool {
	return size <= maxEntry && len(header) == headerSize && string(header[:len(magic)]) == magic &&
		binary.LittleEndian.Uint16(header[len(magic):]) == schema && binary.LittleEndian.Uint64(header[lengthAt:]) == uint64(size-headerSize)
}

// decode returns the image of an entry, whose data is a part of b, or nil if b is not an undamaged entry of that key.
func decode(key Key, b []byte) *driver.Image {
	if len(b) < headerSize || !plausible(b[:headerSize], int64(len(b))) {
		return nil
	}
	if sum := sha256.Sum256(b[headerSize:]); !bytes.Equal(sum[:], b[sumAt:headerSize]) {
		return nil
	}
	r := reader{left: b[headerSize:]}
	if string(r.bytes(len(key))) != string(key[:]) {
		return nil
	}
	img := &driver.Image{Format: driver.Format(r.byte()), Options: r.string()}
	if kernels := r.count(leastKernel); kernels > 0 {
		img.Params = make(map[string][]driver.Param, kernels)
		last := ""
		for i := range kernels {
			name := r.string()
			if i > 0 && name <= last {
				return nil
			}
			last = name
			var params []driver.Param
			if n := r.count(leastParam); n > 0 {
				params = make([]driver.Param, n)
			}
			for i := range params {
				params[i] = driver.Param{Name: r.string(), Kind: driver.ParamKind(r.byte()), Size: r.uint32(), Const: r.bool()}
			}
			img.Params[name] = params
		}
	}
	if r.bad {
		return nil
	}
	img.Data = r.left[:len(r.left):len(r.left)]
	return img
}

// reader takes an entry apart. Once something is missing or wrong, bad is true and the methods return zero values.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.left) {
		r.bad = true
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) bool() bool {
	b := r.byte()
	r.bad = r.bad || b > 1
	return b == 1 && !r.bad
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// count reads the number of items that follow. Each has at least least bytes, so a number that does not fit is wrong.
func (r *reader) count(least int) int {
	n := int64(r.uint32())
	if n > int64(len(r.left)/least) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) string() string { return string(r.bytes(r.count(1))) }
