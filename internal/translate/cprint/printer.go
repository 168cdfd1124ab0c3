package cprint

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// need is what a device must have for a part of the text: float64, and atomic operations of 64 bits.
type need int

const (
	float64s need = 1 << iota
	atomic64s
)

// conditions are the #if lines before parts of the text with needs. For a device that lacks what a part needs, the part is left out, so that the other kernels
// compile.
var conditions = map[need]string{float64s: "#ifdef HALYARD_FLOAT64\n", atomic64s: "#ifdef GO_ATOMIC64\n",
	float64s | atomic64s: "#if defined(HALYARD_FLOAT64) && defined(GO_ATOMIC64)\n"}

// part is a part of the text: the declaration of a type or a function, or a macro.
type part struct {
	text  string
	needs need
	types []int // for which lists of types kernels need it; nil for all: see Types
}

// variant is a function as it is printed for kernels that wait at barriers (waits), or for other kernels. The two texts may avoid different faults.
type variant struct {
	f     *ir.Function
	waits bool
}

// printed is a function in C.
type printed struct {
	c       string // its name
	results string // the type of its result
	checks  bool   // it needs the last parameter, GO_FAULTS, because it, or a function that it calls, has checked indexes or asks for the thread's place
	body    string // the text after its name
}

// printer prints one program.
type printer struct {
	program   *ir.Program
	narrow    *facts.Narrow
	effects   map[*ir.Function]*facts.Effects
	functions map[variant]*printed // the functions that are printed

	declared, filled, sizes, support, code []part          // in the order of the text
	needs                                  map[string]need // what each declared name needs
	now                                    need            // what the part that is being printed needs
	types                                  map[*ir.Type]string
	tables                                 map[*ir.Table]string
	bodies                                 map[string]string // names of structures, by their fields
	prints                                 []string          // what functions print
	sites                                  []string
	lists                                  map[*ir.Function][]int // for each function, the lists of types of the kernels that run it
}

// declare adds the declaration of a name, unless the program has it already, and returns the name. The function make returns the text of the declaration.
func (p *printer) declare(list *[]part, name string, make func() string) string {
	n, ok := p.needs[name]
	if !ok {
		before := p.now
		p.now = 0
		text := make()
		n, p.now = p.now, before
		p.needs[name] = n
		*list = append(*list, part{text: text + "\n", needs: n})
	}
	p.now |= n
	return name
}

// supply adds a C function or a macro with a name and a text, unless the program has it already, and returns the name. The parameter needs is what the text
// needs.
func (p *printer) supply(name, text string, needs need) string {
	return p.declare(&p.support, name, func() string {
		p.now |= needs
		return text
	})
}

// site returns the number of the source line of a checked value v. If the position at is valid, that is its line. Otherwise it is the line of v, or the line of
// the use if v is a variable or has no position.
func (p *printer) site(at token.Pos, v *ir.Value, use token.Pos) int {
	switch {
	case at.IsValid():
	case v.Bound && v.Name != "" || !v.Pos.IsValid(): // the line where a variable is used, and not the line where it is declared
		at = use
	default:
		at = v.Pos
	}
	where := p.program.Position(at)
	text := fmt.Sprintf("%s:%d", filepath.Base(where.Filename), where.Line)
	if i := slices.Index(p.sites, text); i >= 0 {
		return i
	}
	p.sites = append(p.sites, text)
	return len(p.sites) - 1
}
