package adapt

import (
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"time"
)

// WriteProfile writes the live blocks as a profile that "go tool pprof" reads: their number and bytes, by
// the calls that allocated them. Blocks without a recorded stack are listed by their kind of memory
// only. WriteProfile copies the list of blocks first, so that writing does not hold up allocations.
//
// The format is the gzipped protocol buffer of github.com/google/pprof/blob/main/proto/profile.proto.
func (t *Tracker) WriteProfile(w io.Writer) error {
	p := newProto()
	for _, x := range t.Live() {
		frames := x.Stack()
		if len(frames) == 0 {
			frames = []runtime.Frame{{Function: x.Kind.String() + " memory"}}
		}
		var sample, ids, values message
		for _, f := range frames {
			ids.varint(p.location(f))
		}
		values.varint(1)
		values.varint(x.Bytes)
		sample.bytes(1, ids.data)
		sample.bytes(2, values.data)
		var label message
		label.number(1, p.text("kind"))
		label.number(2, p.text(x.Kind.String()))
		sample.bytes(3, label.data)
		p.bytes(2, sample.data)
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(p.finish()); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

// message is a protocol buffer that grows.
type message struct{ data []byte }

func (m *message) varint(n uint64) {
	for ; n >= 0x80; n >>= 7 {
		m.data = append(m.data, byte(n)|0x80)
	}
	m.data = append(m.data, byte(n))
}

// number appends a field of an integer type, bytes one of a message, a string or packed integers.
func (m *message) number(field int, n uint64) {
	m.varint(uint64(field) << 3)
	m.varint(n)
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	m.data = append(m.data, b...)
}

// proto is a profile under construction, with the numbers by which its parts refer to each other.
type proto struct {
	message
	texts     map[string]uint64
	strings   []string
	locations map[place]uint64
	functions map[string]uint64
}

type place struct {
	function string
	line     int
}

func newProto() *proto {
	p := &proto{texts: map[string]uint64{}, locations: map[place]uint64{}, functions: map[string]uint64{}}
	p.text("") // the format requires that text number 0 is empty
	for _, kind := range [][2]string{{"blocks", "count"}, {"space", "bytes"}} {
		p.bytes(1, p.valueType(kind[0], kind[1]))
	}
	return p
}

func (p *proto) valueType(name, unit string) []byte {
	var m message
	m.number(1, p.text(name))
	m.number(2, p.text(unit))
	return m.data
}

func (p *proto) text(s string) uint64 {
	n, known := p.texts[s]
	if !known {
		n = uint64(len(p.strings))
		p.texts[s] = n
		p.strings = append(p.strings, s)
	}
	return n
}

func (p *proto) location(f runtime.Frame) uint64 {
	at := place{f.Function, f.Line}
	id, known := p.locations[at]
	if known {
		return id
	}
	id = uint64(len(p.locations) + 1)
	p.locations[at] = id
	var line, loc message
	line.number(1, p.function(f))
	line.number(2, uint64(f.Line))
	loc.number(1, id)
	loc.number(3, uint64(f.PC))
	loc.bytes(4, line.data)
	p.bytes(4, loc.data)
	return id
}

func (p *proto) function(f runtime.Frame) uint64 {
	id, known := p.functions[f.Function]
	if known {
		return id
	}
	id = uint64(len(p.functions) + 1)
	p.functions[f.Function] = id
	var fn message
	fn.number(1, id)
	fn.number(2, p.text(f.Function))
	fn.number(3, p.text(f.Function))
	fn.number(4, p.text(f.File))
	p.bytes(5, fn.data)
	return id
}

func (p *proto) finish() []byte {
	p.bytes(11, p.valueType("space", "bytes"))
	p.number(9, uint64(time.Now().UnixNano()))
	p.number(12, 1)
	p.number(14, p.text("space"))
	for _, s := range p.strings {
		p.bytes(6, []byte(s))
	}
	return p.data
}
