package kernel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// compiled are the kernels of a program for devices of Vulkan.
type compiled struct {
	kernels map[string]gridgen.Code // by their names in Go
	of      string                  // the sum of the text that they were made of
}

// Compiled gives a program its kernels for devices of Vulkan. Files that the command "halyard kernels" writes call it when the program
// begins, in builds with the tag vulkan. of is the checksum of Source.Portable.
func (p *Program) Compiled(of string, kernels map[string]gridgen.Code) {
	p.vulkan = compiled{kernels, of}
	for _, q := range p.typed {
		q.vulkan = p.vulkan
	}
}

// vulkanTakes says what to do about a program without code for a device of Vulkan.
const vulkanTakes = "; Vulkan's drivers compile no text: write the kernels in Go, run halyard kernels, and build with the tag vulkan, " +
	"or add an image of SPIR-V for Vulkan"

// loaded is a program on a device: as one module, or as one for each kernel.
type loaded struct {
	all   *hal.Module
	each  map[string]*hal.Module // by the name of the kernel's code
	lacks map[string]error       // the errors of kernels that the device cannot run
}

// kernel returns a kernel by the name of its code.
func (l *loaded) kernel(name string) (*hal.Kernel, error) {
	switch {
	case l.all != nil:
		return l.all.Kernel(name)
	case l.lacks[name] != nil:
		return nil, l.lacks[name]
	case l.each[name] == nil:
		return nil, hal.Errorf("launch", hal.ErrNotFound, "no kernel %q", name)
	}
	return l.each[name].Kernel(name)
}

func (l *loaded) closed() bool {
	if l.all != nil {
		return closed(l.all)
	}
	for _, m := range l.each {
		return closed(m) // the device closes all or none
	}
	return false
}

// Close unloads the program.
func (l *loaded) Close() error {
	var errs []error
	if l.all != nil {
		errs = append(errs, l.all.Close())
	}
	for _, m := range l.each {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// loadEach loads the kernels for devices of Vulkan. Those that the device lacks something for fail when they are launched; if that is so
// of all, the error is that of the first.
func (p *Program) loadEach(dev *hal.Device) (*loaded, error) {
	if sum := sha256.Sum256([]byte(p.src.Portable)); hex.EncodeToString(sum[:8]) != p.vulkan.of {
		return nil, p.failure("load", dev, hal.ErrInvalidArgument,
			"the generated files of %s were not written together; run go generate, or go tool halyard kernels", p.src.Name)
	}
	if p.src.prints() {
		return nil, p.failure("load", dev, hal.ErrUnsupported, "grid.Println prints nothing on Vulkan; launch %s on another device, or without %s=print", p.src.Name, debug.Variable)
	}
	l := &loaded{each: map[string]*hal.Module{}, lacks: map[string]error{}}
	var first error
	var unpacker spirv.Unpacker
	for _, name := range slices.Sorted(maps.Keys(p.vulkan.kernels)) {
		code, c := p.src.Kernels[name].Code, p.vulkan.kernels[name]
		why := c.Lacks
		if why == "" {
			var modules [3][]byte
			for i, packed := range []string{c.Words, c.Checked, c.Watched} {
				var err error
				if modules[i], err = unpacker.Unpack(packed); packed != "" && err != nil {
					return nil, errors.Join(p.failure("load", dev, hal.ErrInvalidArgument, "kernel %s: %v", name, err), l.Close())
				}
			}
			data := modules[0]
			switch {
			case p.src.Kernels[name].Types != p.src.list:
				continue
			case !p.src.reports(dev):
			case checkingBounds.Load():
				data = modules[1]
			case c.Watched == "":
				continue // no launch needs it
			default:
				data = modules[2]
			}
			var m *hal.Module
			var err error
			if p.src.parts {
				if data, err = spirv.Parts(data); err != nil {
					l.lacks[code] = p.failure("launch", dev, hal.ErrUnsupported, "kernel %s runs no parts of grids on the device: %v", name,
						err)
					first = cmp.Or(first, l.lacks[code])
					continue
				}
			}
			m, err = dev.Load(hal.Image{Format: hal.FormatVulkan, Data: data})
			if err == nil {
				l.each[code] = m
				continue
			}
			e := (*hal.Error)(nil)
			if !errors.As(err, &e) || !errors.Is(err, hal.ErrUnsupported) {
				return nil, errors.Join(err, l.Close())
			}
			why = e.Detail
			for feature, use := range c.Needs {
				if strings.Contains(e.Detail, feature+",") {
					why = "it uses " + use + ": " + e.Detail
				}
			}
		}
		l.lacks[code] = p.failure("launch", dev, hal.ErrUnsupported, "kernel %s cannot run on the device: %s", name, why)
		first = cmp.Or(first, l.lacks[code])
	}
	if len(l.each) == 0 {
		return l, first
	}
	return l, nil
}
