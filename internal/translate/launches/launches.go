// Package launches answers what the generated file says of launches, from the representation of kernels. It knows the translator, which asks, and the
// printers, which do not know it.
package launches

import (
	"go/token"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/footprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Of returns the answers for the kernels of a package, by their names. If one has no translation, the error is a [translate.Errors].
func Of(p *translate.Package) (map[string]translate.Launch, error) {
	program, err := build.Program(p)
	if err != nil || program == nil {
		return nil, err
	}
	effects := map[*ir.Function]*facts.Effects{}
	all := map[string]translate.Launch{}
	for _, f := range program.Functions {
		effects[f] = facts.EffectsOf(f, effects)
		if f.Kernel {
			all[f.Name] = &launch{program: program, f: f, effects: effects}
		}
	}
	return all, nil
}

// launch answers for a kernel.
type launch struct {
	program *ir.Program
	f       *ir.Function
	effects map[*ir.Function]*facts.Effects
	touched *footprint.Footprint
}

func (l *launch) footprint() *footprint.Footprint {
	if l.touched == nil {
		l.touched = footprint.Of(l.program, l.f, l.effects)
	}
	return l.touched
}

func (l *launch) Footprint(name string) (function, value string) {
	return l.footprint().Func(name), l.footprint().Literal(name)
}

func (l *launch) Said() (cut [3]bool, why string, slices []string) {
	t := l.footprint()
	return t.Cut, t.Why, t.Said()
}

func (l *launch) Steps() string { return footprint.Steps(l.f) }

func (l *launch) Over(names []string, hidden bool) string {
	return footprint.Over(l.f, l.effects, names, hidden)
}

func (l *launch) Rounds() (most [][]string, from, at token.Pos) {
	looped := facts.LoopedOf(l.f)
	return looped.Most.Products(), looped.From, looped.At
}
