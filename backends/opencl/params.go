//go:build opencl

package opencl

import (
	"encoding/binary"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// kernelNames lists the kernels of a program. It returns nil if the driver does not list them.
func (d *device) kernelNames(program uintptr) []string {
	names := factsOf(d.t.programInfo, program).text(programKernelNames)
	return strings.FieldsFunc(names, func(r rune) bool { return r == ';' })
}

// params returns a kernel's parameters. If the driver reports only their number, their kinds are ParamUnknown.
func (d *device) params(op, name string, cl uintptr) ([]driver.Param, error) {
	var word [4]byte
	if _, st := d.t.kernelInfo(cl, kernelNumArgs, word[:]); st != success {
		return nil, d.check(op, "clGetKernelInfo", st)
	}
	params := make([]driver.Param, binary.NativeEndian.Uint32(word[:]))
	for i := range params {
		of := facts{func(param uint32, value []byte) (uint64, status) {
			return d.t.kernelArgInfo(cl, uint32(i), param, value)
		}}
		p, kind := &params[i], of.text(argTypeName)
		if kind == "" {
			continue
		}
		if opaque(kind) {
			return nil, d.refuse(op, driver.ErrUnsupported,
				"kernel %s: parameter %d is of type %s; a launch passes numbers, structures, memory and shared memory only", name, i, kind)
		}
		p.Name = of.text(argName)
		switch of.number(argAddress) {
		case addressLocal:
			p.Kind = driver.ParamShared
		case addressGlobal:
			p.Kind, p.Size = driver.ParamPointer, 8
			p.Const = of.number(argTypeQualify)&typeConst != 0
		case addressConstant:
			p.Kind, p.Size, p.Const = driver.ParamPointer, 8, true
		case addressPrivate:
			p.Kind, p.Size = driver.ParamValue, sizeOf(kind)
		}
	}
	return params, nil
}

func unknown(p driver.Param) bool { return p.Kind == driver.ParamUnknown }

// opaque reports whether a type is one of OpenCL's object types: image, sampler, pipe or queue.
func opaque(kind string) bool {
	image := strings.HasPrefix(kind, "image") && strings.HasSuffix(kind, "_t")
	return image || kind == "sampler_t" || kind == "queue_t" || strings.HasPrefix(kind, "pipe")
}

// scalars are the sizes of OpenCL C's numbers, in bytes (OpenCL 1.2, section 6.1.1).
var scalars = map[string]uint32{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
	"half": 2, "float": 4, "double": 8,
	"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "signed char": 1, "unsigned": 4,
}

// sizeOf returns the size of a type in bytes. It returns 0 for structures and for types that the program defines, whose names
// do not give the size.
func sizeOf(kind string) uint32 {
	if n := scalars[kind]; n != 0 {
		return n
	}
	name := strings.TrimRight(kind, "0123456789")
	n := scalars[name]
	switch kind[len(name):] {
	case "2":
		return 2 * n
	case "3", "4": // a vector of three elements has the size of one of four
		return 4 * n
	case "8":
		return 8 * n
	case "16":
		return 16 * n
	}
	return 0
}
