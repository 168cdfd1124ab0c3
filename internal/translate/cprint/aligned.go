package cprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// NVIDIA's devices load up to 16 bytes at once from an address that is a multiple of 16. The compiler joins neighbouring loads if it knows the address to be such
// a multiple. A view of a buffer may begin anywhere, so a kernel that gains is compiled twice: its entry looks at the addresses, and calls the body with pointers
// that the compiler knows to be aligned, or with the pointers as they are. The macros in prelude/bounds.h do this for CUDA alone. AMD's devices load 16 bytes from
// any address that is a multiple of 4, and compilers of OpenCL gain nothing.

// wideLoad is how many bytes one load reads at most.
const wideLoad = 16

// eightAtOnce reports whether NVIDIA's compiler is told to unroll a loop by eight: a loop of a fast kernel that reads neighbouring numbers and
// has no loop in it. Otherwise the compiler unrolls it by four, and a fast kernel then spends a
// large part of the time on counting rounds.
func (f *function) eightAtOnce(loop *ir.Stmt) bool {
	if !f.f.Kernel || !f.f.Fast || f.Unroll[loop] > 0 {
		return false
	}
	inner, gains := false, map[*ir.Param]bool{}
	loop.Then.Visit(func(s *ir.Stmt) { inner = inner || s.Do == ir.Loop }, nil)
	f.joins(loop, gains)
	for m, joins := range gains {
		if joins && !inner && !f.effects[f.f].Params[m.Index].Written {
			return true
		}
	}
	return false
}

// copied is an element that is copied in front of a loop: see copies.
type copied struct {
	of    *ir.Param
	index any // a bound value or a local
}

// joined returns the parameters that a kernel only reads, and from which loops read neighbouring numbers.
func (f *function) joined() (all []*ir.Param) {
	if !f.f.Kernel {
		return nil
	}
	gains := map[*ir.Param]bool{}
	f.f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Loop {
			f.joins(s, gains)
		}
	}, nil)
	for _, m := range f.f.Params {
		if gains[m] && !f.effects[f.f].Params[m.Index].Written {
			all = append(all, m)
		}
	}
	return all
}

// joins finds the parameters from which one round of a loop reads neighbouring numbers. They are parts of one element, or elements that follow one
// whose index is a multiple of 2.
func (f *function) joins(loop *ir.Stmt, gains map[*ir.Param]bool) {
	type beside struct {
		of *ir.Param
		at int64
	}
	seen := map[beside]bool{}
	for c := range f.copies(loop) {
		gains[c.of] = true
	}
	loop.Then.Visit(nil, func(v *ir.Value) {
		if v.Op != ir.Load || v.Place.Param == nil || v.Place.Param.Type.Kind != ir.Slice || v.Place.Param.Type.Space != ir.Global {
			return
		}
		m, path := v.Place.Param, v.Place.Path
		elem := m.Type.Elem
		if !elem.Number() {
			gains[m] = gains[m] || len(path) == 1 && elem.Size()%8 == 0 && !elem.Has(func(t *ir.Type) bool { return t.Number() && t.Size() > 4 })
			return
		}
		index, at := path[0].Index, int64(0)
		if index.Op == ir.Add && !index.Bound {
			if n, ok := facts.Constant(index.Args[1]); ok {
				index, at = index.Args[0], n
			}
		}
		c := loop.Count
		if c == nil || index != c.Index || elem.Size() != 4 || c.By%2 != 0 {
			return
		}
		if from, ok := facts.Constant(c.From); ok && from%2 == 0 {
			seen[beside{m, at}] = true
			gains[m] = gains[m] || seen[beside{m, at ^ 1}]
		}
	})
}

// copies returns the elements to copy in front of a short loop. Such an element is an array of numbers of 4 bytes, at an index that is the same in all rounds,
// and each round reads the next number of it. The loop must not store to memory.
func (f *function) copies(loop *ir.Stmt) map[copied]*ir.Place {
	if f.Unroll[loop] == 0 || loop.Count == nil {
		return nil
	}
	own, stored, plain := map[*ir.Value]bool{}, map[*ir.Local]bool{}, true
	loop.Then.Visit(func(s *ir.Stmt) {
		plain = plain && (s.Do == ir.Let || s.Do == ir.Store && s.Place.Local != nil && s.Place.Space() == ir.Private)
		if s.Do == ir.Let {
			own[s.Value] = true
		} else if plain {
			stored[s.Place.Local] = true
		}
	}, func(v *ir.Value) {
		plain = plain && v.Op != ir.Both && v.Op != ir.Either && v.Op != ir.Call && v.Op != ir.Atomic
	})
	if !plain {
		return nil
	}
	all := map[copied]*ir.Place{}
	loop.Then.Visit(nil, func(v *ir.Value) {
		p := v.Place
		if v.Op != ir.Load || p.Param == nil || p.Param.Type.Kind != ir.Slice || p.Param.Type.Space != ir.Global || len(p.Path) != 2 {
			return
		}
		elem, index := p.Param.Type.Elem, p.Path[0].Index
		if elem.Kind != ir.Array || elem.Len != int64(f.Unroll[loop]) || elem.Elem.Size() != 4 || !elem.Elem.Number() || p.Path[1].Index != loop.Count.Index {
			return
		}
		if c := (copied{p.Param, repeated(index)}); c.index != nil && !own[index] && index != loop.Count.Index && !stored[facts.Loaded(index)] {
			all[c] = &ir.Place{Param: p.Param, Path: p.Path[:1], Type: elem}
		}
	})
	return all
}

// repeated returns a key for an index that is the same wherever it is used: the index itself if it is bound, or the variable that it reads. For other indexes
// it returns nil.
func repeated(index *ir.Value) any {
	if index.Bound {
		return index
	}
	if l := facts.Loaded(index); l != nil {
		return l
	}
	return nil
}

// copy declares the copies of the elements that a loop reads, and returns a function to call at the end of the loop.
func (f *function) copy(loop *ir.Stmt) (end func()) {
	all := f.copies(loop)
	for _, m := range f.f.Params {
		for c, p := range all {
			if c.of == m && f.copied[c] == "" {
				element := f.place(p, loop.Pos)
				name := f.added()
				f.line("GO_COPY(%s, %s, %s)", f.typ(p.Type), name, element.c)
				f.copied[c] = name
			} else if c.of == m {
				delete(all, c)
			}
		}
	}
	return func() {
		for c := range all {
			delete(f.copied, c)
		}
	}
}

// entries returns the head of a kernel that is compiled twice, once for aligned pointers.
func (f *function) entries(joined []*ir.Param, list string) string {
	var addresses, aligned, plain []string
	for _, m := range f.f.Params {
		c := f.names[m]
		args := []string{c}
		switch m.Type.Kind {
		case ir.Slice:
			args = append(args, c+"_n")
		case ir.Matrix:
			args = append(args, c+"_n", c+"_m")
		}
		plain = append(plain, args...)
		if slices.Contains(joined, m) {
			addresses = append(addresses, "(u64)"+c)
			args[0] = fmt.Sprintf("(const GLOBAL %s *)GO_ALIGNED(%s)", f.typ(m.Type.Elem), c)
		}
		aligned = append(aligned, args...)
	}
	body := "b_" + f.c
	return fmt.Sprintf(`#ifdef GO_ALIGNED
GO_BODY void %s(%s);
KERNEL void %s(%[2]s) {
	if (((%[4]s) & %d) == 0) {
		%[1]s(%[6]s GO_PASS);
	} else {
		%[1]s(%[7]s GO_PASS);
	}
}
GO_BODY void %[1]s(%[2]s)
#else
KERNEL void %[3]s(%[2]s)
#endif
`, body, list, f.c, strings.Join(addresses, " | "), wideLoad-1, strings.Join(aligned, ", "), strings.Join(plain, ", "))
}
