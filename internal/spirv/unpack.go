package spirv

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Unpacker unpacks modules from the text of Go files. It takes those of a file in the order in which they were packed, because what stands in one
// is not written again in a later one.
type Unpacker struct{ b []byte } // all modules so far

// mostPacked is how many bytes the modules of a file may have, so that damaged text does not fill the memory.
const mostPacked = 1 << 26

var errDamaged = errors.New("the text is no packed module")

// Unpack returns the bytes of a module, as a device loads them.
func (u *Unpacker) Unpack(packed string) ([]byte, error) {
	text, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, errDamaged
	}
	begin, runs := len(u.b), reader{text, true}
	for len(runs.b) > 0 {
		u.b = append(u.b, runs.bytes(int(runs.next()))...)
		again, back := int(runs.next()), int(runs.next())
		if !runs.ok || again > 0 && (back < 1 || back > len(u.b)) || again > mostPacked-len(u.b) {
			return nil, errDamaged
		}
		for range again { // a run may repeat itself
			u.b = append(u.b, u.b[len(u.b)-back])
		}
	}
	words := reader{u.b[begin:], true}
	out := []uint32{0x07230203, 0x00010500, 0, words.next(), 0}
	for len(words.b) > 0 && words.ok {
		op, n := words.next(), words.next()
		out = append(out, n<<16|op)
		for ; n > 1 && words.ok; n-- {
			out = append(out, words.next())
		}
	}
	if !words.ok {
		return nil, errDamaged
	}
	return bytesOf(out), nil
}

// reader reads numbers and bytes. ok is false once there was nothing left to read.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) next() uint32 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.ok = nil, false
		return 0
	}
	r.b = r.b[n:]
	return uint32(v)
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		n, r.ok = 0, false
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}
