package image

import (
	"bytes"

	"github.com/go-halyard/halyard/hal/driver"
)

// Numbers of the ELF format.
const (
	machineCUDA   = 190
	machineAMDGPU = 224

	headerSize  = 64
	sectionSize = 64
	programSize = 56
	symbolSize  = 24

	sectionSymbols   = 2
	sectionNotes     = 7
	sectionEmpty     = 8 // has no bytes in the file
	sectionVendor    = 0x70000000
	programNotes     = 4
	symbolIsFunction = 2
)

var elfMagic = []byte("\x7fELF")

// elf is a little-endian ELF image of 64 bits. Its sections and segments are within the data.
type elf struct {
	reader
	what     string // for errors
	sections []section
	segments []segment

	// names is how many more bytes of names may be read. Names can share bytes, so a small file could have many long names.
	names int
}

type section struct {
	name string
	kind uint32
	size uint64
	link uint32
	body []byte // empty if the section has no bytes in the file
}

type segment struct {
	kind uint32
	body []byte
}

// parseELF reads the headers of an image. It refuses images for another machine.
func parseELF(what string, data []byte, machine uint16) (*elf, error) {
	e := &elf{reader: reader{data}, what: what, names: 8*len(data) + 1<<10}
	switch {
	case !bytes.HasPrefix(data, elfMagic):
		return nil, damaged(what, "it is not an ELF image")
	case len(data) < headerSize:
		return nil, damaged(what, "it ends within the header")
	case data[4] != 2 || data[5] != 1:
		return nil, damaged(what, "it is not an ELF image of 64 bits, little-endian")
	case e.u16(18) != machine:
		return nil, damaged(what, "it is an ELF image for another kind of machine (%d)", e.u16(18))
	}
	if err := e.readSegments(e.u64(32), e.u16(54), e.u16(56)); err != nil {
		return nil, err
	}
	return e, e.readSections(e.u64(40), e.u16(58), e.u16(60), e.u16(62))
}

func (e *elf) readSegments(off uint64, size, n uint16) error {
	if n == 0 {
		return nil
	}
	table, ok := e.slice(off, uint64(n)*programSize)
	if size != programSize || !ok {
		return damaged(e.what, "the table of %d segments does not lie within its %d bytes", n, len(e.data))
	}
	t := reader{table}
	for at := uint64(0); at < uint64(len(table)); at += programSize {
		body, ok := e.slice(t.u64(at+8), t.u64(at+32))
		if !ok {
			return damaged(e.what, "segment %d does not lie within its %d bytes", at/programSize, len(e.data))
		}
		e.segments = append(e.segments, segment{kind: t.u32(at), body: body})
	}
	return nil
}

func (e *elf) readSections(off uint64, size, count, namesIndex uint16) error {
	if off == 0 {
		return nil
	}
	n, names := uint64(count), uint64(namesIndex)
	if n == 0 { // a number that is too large for the header is in the first section
		n = e.u64(off + 32)
	}
	if namesIndex == 0xffff {
		names = uint64(e.u32(off + 40))
	}
	if n > uint64(len(e.data))/sectionSize {
		return damaged(e.what, "%d sections in %d bytes", n, len(e.data))
	}
	table, ok := e.slice(off, n*sectionSize)
	if size != sectionSize || !ok {
		return damaged(e.what, "the table of %d sections does not lie within its %d bytes", n, len(e.data))
	}
	t := reader{table}
	e.sections = make([]section, n)
	for i := range e.sections {
		at := uint64(i) * sectionSize
		s := section{kind: t.u32(at + 4), size: t.u64(at + 32), link: t.u32(at + 40)}
		if s.kind != 0 && s.kind != sectionEmpty {
			// The headers of a vendor's own sections may have other meanings, so they are checked only when the section is read.
			if s.body, ok = e.slice(t.u64(at+24), s.size); !ok && s.kind < sectionVendor {
				return damaged(e.what, "section %d does not lie within its %d bytes", i, len(e.data))
			}
		}
		e.sections[i] = s
	}
	if names == 0 || names >= n {
		return nil
	}
	for i := range e.sections {
		var err error
		if e.sections[i].name, err = e.nameIn(e.sections[names].body, t.u32(uint64(i)*sectionSize)); err != nil {
			return err
		}
	}
	return nil
}

// nameIn returns a name in the body of a section of names.
func (e *elf) nameIn(names []byte, off uint32) (string, error) {
	name, ok := reader{names}.text(uint64(off))
	if e.names -= len(name); !ok || e.names < 0 {
		return "", damaged(e.what, "a name does not lie within the section of names")
	}
	return string(name), nil
}

// symbol is an entry of the table of symbols.
type symbol struct {
	name    string
	kind    byte
	other   byte
	section uint16
}

// symbols returns the table of symbols, or nil if there is none.
func (e *elf) symbols() ([]symbol, error) {
	for _, s := range e.sections {
		if s.kind != sectionSymbols {
			continue
		}
		if uint64(s.link) >= uint64(len(e.sections)) {
			return nil, damaged(e.what, "the symbols have no names")
		}
		t := reader{s.body}
		symbols := make([]symbol, len(s.body)/symbolSize)
		for i := range symbols {
			at := uint64(i) * symbolSize
			name := ""
			if off := t.u32(at); off != 0 {
				var err error
				if name, err = e.nameIn(e.sections[s.link].body, off); err != nil {
					return nil, err
				}
			}
			symbols[i] = symbol{name: name, kind: byte(t.at(at+4, 1)) & 15, other: byte(t.at(at+5, 1)), section: t.u16(at + 6)}
		}
		return symbols, nil
	}
	return nil, nil
}

// notes calls fn for each note until fn returns true.
func (e *elf) notes(fn func(owner string, kind uint32, text []byte) (stop bool)) error {
	var bodies [][]byte
	for _, s := range e.segments {
		if s.kind == programNotes {
			bodies = append(bodies, s.body)
		}
	}
	if bodies == nil {
		for _, s := range e.sections {
			if s.kind == sectionNotes {
				bodies = append(bodies, s.body)
			}
		}
	}
	total := 0
	for _, body := range bodies {
		if total += len(body); total > len(e.data) {
			return damaged(e.what, "its notes overlap")
		}
		r := reader{body}
		for at := uint64(0); at+12 <= uint64(len(body)); {
			owner, ok := r.slice(at+12, uint64(r.u32(at)))
			textAt := align4(at + 12 + uint64(r.u32(at)))
			text, ok2 := r.slice(textAt, uint64(r.u32(at+4)))
			if !ok || !ok2 {
				return damaged(e.what, "a note is cut short")
			}
			if fn(string(bytes.TrimRight(owner, "\x00")), r.u32(at+8), text) {
				return nil
			}
			at = align4(textAt + uint64(len(text)))
		}
	}
	return nil
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }

// found holds the descriptions of an image's kernels, by name.
type found = map[string]*driver.KernelInfo
