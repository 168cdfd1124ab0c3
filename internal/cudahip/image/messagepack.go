package image

import (
	"encoding/binary"
	"errors"
)

// pack reads MessagePack. After an error nothing is left to read: every number is 0 and every text is empty.
type pack struct {
	rest []byte
	err  error
}

var (
	errPackShort = errors.New("it is cut short")
	errPackType  = errors.New("a value is of another type than expected")
)

func (p *pack) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.rest = nil
}

func (p *pack) take(n uint64) []byte {
	if n > uint64(len(p.rest)) {
		p.fail(errPackShort)
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

// number takes a big-endian number of 1, 2, 4 or 8 bytes.
func (p *pack) number(bytes uint64) uint64 {
	b := p.take(bytes)
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// packKind is the kind of a value.
type packKind uint8

const (
	packOther  packKind = iota // nil, bytes, negative and floating-point numbers, extensions
	packNumber                 // not negative
	packBool
	packText
	packList
	packMap
)

// head takes the beginning of a value. n is the value of a number, the number of bytes that follow, or the number of elements
// or pairs that follow.
func (p *pack) head() (kind packKind, n uint64) {
	c := p.number(1)
	switch {
	case p.err != nil:
		return packOther, 0
	case c < 0x80:
		return packNumber, c
	case c < 0x90:
		return packMap, c & 15
	case c < 0xa0:
		return packList, c & 15
	case c < 0xc0:
		return packText, c & 31
	case c >= 0xe0: // a small negative number
		return packOther, 0
	}
	switch c {
	case 0xc0: // nil
		return packOther, 0
	case 0xc2, 0xc3:
		return packBool, c & 1
	case 0xc4, 0xc5, 0xc6: // bytes
		return packOther, p.number(1 << (c - 0xc4))
	case 0xc7, 0xc8, 0xc9: // an extension: a size, a type, and bytes
		return packOther, p.number(1<<(c-0xc7)) + 1
	case 0xca: // floating point
		return packOther, 4
	case 0xcb:
		return packOther, 8
	case 0xcc, 0xcd, 0xce, 0xcf:
		return packNumber, p.number(1 << (c - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3: // a number with a sign
		bytes := uint64(1) << (c - 0xd0)
		if v := p.number(bytes); v>>(8*bytes-1) == 0 {
			return packNumber, v
		}
		return packOther, 0
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // an extension of fixed size
		return packOther, 1<<(c-0xd4) + 1
	case 0xd9, 0xda, 0xdb:
		return packText, p.number(1 << (c - 0xd9))
	case 0xdc, 0xdd:
		return packList, p.number(2 << (c - 0xdc))
	case 0xde, 0xdf:
		return packMap, p.number(2 << (c - 0xde))
	}
	p.fail(errPackType)
	return packOther, 0
}

// skip takes a value and everything in it.
func (p *pack) skip() {
	for left := uint64(1); left > 0 && p.err == nil; left-- {
		switch kind, n := p.head(); {
		case kind == packOther || kind == packText:
			p.take(n)
		case kind != packList && kind != packMap:
		case n > uint64(len(p.rest)): // each element has at least one byte
			p.fail(errPackShort)
		case kind == packList:
			left += n
		default:
			left += 2 * n
		}
	}
}

func (p *pack) text() string {
	kind, n := p.head()
	if kind != packText {
		p.fail(errPackType)
	}
	return string(p.take(n))
}

func (p *pack) uint() uint64 {
	kind, n := p.head()
	if kind != packNumber {
		p.fail(errPackType)
	}
	if p.err != nil {
		return 0
	}
	return n
}

func (p *pack) bool() bool {
	kind, n := p.head()
	if kind != packBool {
		p.fail(errPackType)
	}
	return n == 1 && p.err == nil
}

// list calls fn for each element of a list. fn takes the element.
func (p *pack) list(fn func()) {
	kind, n := p.head()
	if kind != packList {
		p.fail(errPackType)
	}
	for ; n > 0 && p.err == nil; n-- {
		fn()
	}
}

// fields calls fn with each key of a map. fn takes the value.
func (p *pack) fields(fn func(key string)) {
	kind, n := p.head()
	if kind != packMap {
		p.fail(errPackType)
	}
	for ; n > 0 && p.err == nil; n-- {
		fn(p.text())
	}
}
