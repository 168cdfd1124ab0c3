package image

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

const (
	bundleMagic     = "__CLANG_OFFLOAD_BUNDLE__"
	compressedMagic = "CCOB"

	// maxBundled is far more than the number of architectures that exist.
	maxBundled = 512
)

// readObjects reads a code object, or a bundle of them ("Clang Offload Bundler" in Clang's documentation).
func readObjects(data []byte) (found, error) {
	switch {
	case bytes.HasPrefix(data, []byte(bundleMagic)):
		return readBundle(data)
	case bytes.HasPrefix(data, []byte(compressedMagic)):
		return nil, checkCompressed(data)
	}
	return readObject(data)
}

// checkCompressed checks that a compressed bundle is complete. Version 1 of the format does not say how long the bundle is.
func checkCompressed(data []byte) error {
	const what, header = "compressed bundle", 24
	r, size := reader{data}, uint64(0)
	switch r.u16(4) {
	case 1:
	case 2:
		size = uint64(r.u32(8))
	default:
		size = r.u64(8)
	}
	if len(data) < header || size > uint64(len(data)) {
		return damaged(what, "its header says that it has %d bytes, but it has %d", size, len(data))
	}
	return nil
}

func readBundle(data []byte) (found, error) {
	const what = "bundle"
	r := reader{data}
	n := r.u64(uint64(len(bundleMagic)))
	if len(data) < len(bundleMagic)+8 || n > maxBundled {
		return nil, damaged(what, "it has %d entries", n)
	}
	var out found
	type place struct{ off, size uint64 }
	seen := map[place]bool{}
	at, total := uint64(len(bundleMagic))+8, uint64(0)
	for i := range n {
		if _, ok := r.slice(at, 24); !ok {
			return nil, damaged(what, "it ends within its table")
		}
		where := place{r.u64(at), r.u64(at + 8)}
		id, ok := r.slice(at+24, r.u64(at+16))
		body, ok2 := r.slice(where.off, where.size)
		if !ok || !ok2 {
			return nil, damaged(what, "entry %d of %d does not lie within its %d bytes", i, n, len(data))
		}
		at += 24 + uint64(len(id))
		// Entries for the host are empty. Entries that are not ELF contain code in forms that this package cannot read.
		if seen[where] || bytes.HasPrefix(id, []byte("host")) || !bytes.HasPrefix(body, elfMagic) {
			continue
		}
		seen[where] = true
		if total += where.size; total > uint64(len(data)) {
			return nil, damaged(what, "its entries overlap")
		}
		kernels, err := readObject(body)
		if err != nil {
			return nil, err
		}
		for name, k := range kernels {
			switch known := out[name]; {
			case known != nil:
				merge(known, k)
			case out == nil:
				out = found{name: k}
			default:
				out[name] = k
			}
		}
	}
	return out, nil
}

// Owner and kind of the note in which a code object describes its kernels, since version 3 ("Code Object Metadata" in LLVM's user guide for
// AMDGPU). Version 2 has another note, which this package does not read.
const (
	metadataOwner = "AMDGPU"
	metadataKind  = 32
)

// readObject reads one code object.
func readObject(data []byte) (found, error) {
	const what = "code object"
	e, err := parseELF(what, data, machineAMDGPU)
	if err != nil {
		return nil, err
	}
	var text []byte
	err = e.notes(func(owner string, kind uint32, t []byte) bool {
		if owner != metadataOwner || kind != metadataKind {
			return false
		}
		text = t
		return true
	})
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, nil
	}
	var kernels found
	p := &pack{rest: text}
	p.fields(func(key string) {
		if key == "amdhsa.kernels" {
			kernels = found{}
			p.list(func() { readKernel(p, kernels) })
		} else {
			p.skip()
		}
	})
	if p.err != nil {
		return nil, damaged(what, "its metadata cannot be read: %v", p.err)
	}
	return kernels, nil
}

func readKernel(p *pack, kernels found) {
	k := &driver.KernelInfo{}
	p.fields(func(key string) {
		switch key {
		case ".name":
			k.Name = p.text()
		case ".args":
			k.Known, k.Params = true, nil
			p.list(func() { readArg(p, k) })
		case ".reqd_workgroup_size":
			var shape []uint32
			p.list(func() { shape = append(shape, uint32(min(p.uint(), math.MaxUint32))) })
			if len(shape) == 3 && !slices.Contains(shape, 0) {
				k.RequiredBlock = [3]uint32(shape)
			}
		case ".kernarg_segment_size":
			if p.uint() == 0 && !k.Known { // a kernel without parameters may have no list of them
				k.Known = true
			}
		default:
			p.skip()
		}
	})
	if k.Name != "" && kernels[k.Name] == nil {
		kernels[k.Name] = k
	}
}

// readArg reads one argument. Arguments that the runtime adds by itself are left out.
func readArg(p *pack, k *driver.KernelInfo) {
	var a driver.Param
	kind := ""
	p.fields(func(key string) {
		switch key {
		case ".name":
			a.Name = p.text()
		case ".size":
			a.Size = uint32(min(p.uint(), math.MaxUint32))
		case ".value_kind":
			kind = p.text()
		case ".is_const":
			if p.bool() {
				a.Const = true
			}
		case ".access", ".actual_access":
			if p.text() == "read_only" {
				a.Const = true
			}
		default:
			p.skip()
		}
	})
	switch {
	case strings.HasPrefix(kind, "hidden_"):
		return
	case kind == "by_value":
		a.Kind = driver.ParamValue
	case kind == "global_buffer":
		a.Kind = driver.ParamPointer
	}
	k.Params = append(k.Params, a)
}
