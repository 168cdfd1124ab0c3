package image

import (
	"math"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// Attributes in the sections .nv.info and .nv.info.KERNEL, as cuobjdump names them (EIATTR_...). Each has a format, a number, and a value.
const (
	infoReqThreads = 0x10 // three numbers
	infoParam      = 0x17 // index, ordinal, offset, size in the upper 14 bits
	infoParamBytes = 0x19 // bytes of all parameters
	infoParamWide  = 0x45 // the same as infoParam for kernels with large parameters

	formatNone  = 1 // no value
	formatByte  = 2
	formatHalf  = 3 // two bytes
	formatSized = 4 // a number of bytes, and these bytes
)

// symbolIsKernel is the bit of a symbol's st_other that only kernels have.
const symbolIsKernel = 0x10

// readCubin reads an ELF image for NVIDIA's devices.
func readCubin(data []byte) (found, error) {
	const what = "cubin"
	e, err := parseELF(what, data, machineCUDA)
	if err != nil {
		return nil, err
	}
	symbols, err := e.symbols()
	if err != nil || symbols == nil {
		return nil, err
	}
	byName := make(map[string]*section, len(e.sections))
	for i := range e.sections {
		byName[e.sections[i].name] = &e.sections[i]
	}
	kernels := found{}
	read := 0
	for _, s := range symbols {
		if s.kind != symbolIsFunction || s.other&symbolIsKernel == 0 || s.section == 0 || s.name == "" || kernels[s.name] != nil {
			continue
		}
		k := &driver.KernelInfo{Name: s.name}
		kernels[s.name] = k
		if info := byName[".nv.info."+s.name]; info != nil {
			if read += len(info.body); read > len(data) {
				return nil, damaged(what, "sections overlap")
			}
			if err := describe(k, info); err != nil {
				return nil, err
			}
		}
	}
	return kernels, nil
}

// attributes calls fn for each attribute of a section. known is false if it came to an attribute that it cannot read.
func attributes(s *section, fn func(attribute byte, value reader)) (known bool, err error) {
	if uint64(len(s.body)) != s.size {
		return false, damaged("cubin", "section %s is cut short", s.name)
	}
	r := reader{s.body}
	for at := uint64(0); at < uint64(len(s.body)); {
		head, ok := r.slice(at, 4)
		if !ok {
			return false, damaged("cubin", "section %s is cut short", s.name)
		}
		at += 4
		switch head[0] {
		case formatNone:
			fn(head[1], reader{})
		case formatByte, formatHalf:
			fn(head[1], reader{head[2:]})
		case formatSized:
			n := uint64(head[2]) | uint64(head[3])<<8
			value, ok := r.slice(at, n)
			if !ok {
				return false, damaged("cubin", "section %s is cut short", s.name)
			}
			fn(head[1], reader{value})
			at += n
		default:
			return false, nil
		}
	}
	return true, nil
}

// cubinParam is a parameter with its place among the others.
type cubinParam struct {
	ordinal, offset uint32
	driver.Param
}

// describe reads the section's description of a kernel.
func describe(k *driver.KernelInfo, s *section) error {
	var params []cubinParam
	total := uint32(0)
	known, err := attributes(s, func(a byte, v reader) {
		switch a {
		case infoParam, infoParamWide:
			if len(v.data) < 12 {
				return
			}
			p := cubinParam{ordinal: uint32(v.u16(4)), offset: uint32(v.u16(6))}
			space := uint32(0) // not 0 if the parameter is known to be a pointer
			if last := v.u32(8); a == infoParam {
				p.Size, space = last>>18, last>>8&15
			} else {
				p.Size, space = last&0xffff, last>>24&15
			}
			switch {
			case space != 0 && p.Size == 8:
				p.Kind = driver.ParamPointer
			case p.Size != 8:
				p.Kind = driver.ParamValue
			}
			params = append(params, p)
		case infoParamBytes:
			total = uint32(v.u16(0))
		case infoReqThreads:
			if shape, ok := threads(v); ok {
				k.RequiredBlock = shape
			}
		}
	})
	if err != nil || !known {
		return err
	}
	slices.SortFunc(params, func(a, b cubinParam) int { return int(a.ordinal) - int(b.ordinal) })
	end := uint32(0)
	for i, p := range params {
		if p.ordinal != uint32(i) || p.offset < end || p.Size == 0 {
			return nil // a layout that this package does not know
		}
		end = p.offset + p.Size
	}
	if end != total {
		return nil
	}
	k.Known = true
	for _, p := range params {
		k.Params = append(k.Params, p.Param)
	}
	return nil
}

// threads reads three numbers of threads.
func threads(v reader) (shape [3]uint32, ok bool) {
	for i := range shape {
		shape[i] = v.u32(uint64(i) * 4)
		if shape[i] == 0 || shape[i] > math.MaxInt32 {
			return shape, false
		}
	}
	return shape, true
}
