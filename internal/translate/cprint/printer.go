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

// conditions are the #if lines before parts of the text that need something. A device that lacks it leaves these parts out, so that the other kernels compile
// there.
var conditions = map[need]string{float64s: "#ifdef HALYARD_FLOAT64\n", atomic64s: "#ifdef GO_ATOMIC64\n",
	float64s | atomic64s: "#if defined(HALYARD_FLOAT64) && defined(GO_ATOMIC64)\n"}

// part is a declaration of the text: of a type or a function, or a macro.
type part struct {
	text  string
	needs need
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
	checks  bool   // it, or a function that it calls, has checked indexes or asks for the thread's place, and so needs the last parameter, GO_FAULTS
	body    string // what follows its name
}

// printer prints one program.
type printer struct {
	program   *ir.Program
	effects   map[*ir.Function]*facts.Effects
	functions map[variant]*printed // those that are printed

	declared, sizes, support, code []part          // in the order of the text
	needs                          map[string]need // what each declared name needs
	now                            need            // what the part that is being printed needs
	types                          map[*ir.Type]string
	bodies                         map[string]string // names of structures, by their fields
	sites                          []string
}

// declare adds a declaration of a name that a text uses, unless the program has it, and returns the name. make returns the text.
func (p *printer) declare(list *[]part, name string, make func() string) string {
	n, ok := p.needs[name]
	if !ok {
		before := p.now
		p.now = 0
		text := make()
		n, p.now = p.now, before
		p.needs[name] = n
		*list = append(*list, part{text + "\n", n})
	}
	p.now |= n
	return name
}

// supply adds a function of support.go with this name and text, unless the program has it, and returns the name. needs is what the text needs.
func (p *printer) supply(name, text string, needs need) string {
	return p.declare(&p.support, name, func() string {
		p.now |= needs
		return text
	})
}

// site returns the number of the source line of a checked index v. That is the line of at if at is valid. Otherwise it is the line of v, or of its use if v
// is a variable or has no position.
func (p *printer) site(at token.Pos, v *ir.Value, use token.Pos) int {
	switch {
	case at.IsValid():
	case v.Bound && v.Name != "" || !v.Pos.IsValid(): // where a variable is used, and not where it is declared
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
