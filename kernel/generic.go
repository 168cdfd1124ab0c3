package kernel

import (
	"maps"
	"slices"
)

// generic reports whether the source has generic kernels. A program compiles those for one list of types together, when the first of them is launched.
func (s *Source) generic() bool {
	for _, k := range s.Kernels {
		if k.Types > 0 {
			return true
		}
	}
	return false
}

// with returns the program that has a kernel: p itself, or that for the kernel's types.
func (p *Program) with(kernel string) *Program {
	if p == nil || p.loads == nil || p.src.Kernels[kernel].Types == p.src.list {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	types := p.src.Kernels[kernel].Types
	if p.typed[types] == nil {
		src := p.src
		src.list = types
		q := New(src)
		q.written, q.vulkan = p.written, p.vulkan
		if p.typed == nil {
			p.typed = map[int]*Program{}
		}
		p.typed[types] = q
	}
	return p.typed[types]
}

// all returns the programs that have all kernels together.
func (p *Program) all() (all []*Program) {
	if p == nil || p.loads == nil || !p.src.generic() || p.src.list > 0 {
		return []*Program{p}
	}
	for _, name := range slices.Sorted(maps.Keys(p.src.Kernels)) {
		if q := p.with(name); !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}
