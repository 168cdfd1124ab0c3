package kernel

import (
	"errors"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// compiled are the kernels of a program for devices of Vulkan.
type compiled struct {
	kernels map[string]gridgen.Code // by their names in Go
	of      string                  // the sum of the text that they were made of
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

// closed reports whether a module was closed with its device.
func closed(m *hal.Module) bool {
	_, err := m.Kernel("")
	return errors.Is(err, hal.ErrClosed)
}
