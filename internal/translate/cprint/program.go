package cprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/quirks"
)

// Printed is the text of a program.
type Printed struct {
	C      string
	Prints []string // what functions print: see ir.Function
	Sites  []string // the source lines of checked indexes, as file:line; the text has indexes into this list
}

// Print prints the kernels of a program, and the functions that they call. The integers that narrow says are kept in 32 bits.
func Print(p *ir.Program, narrow *facts.Narrow) *Printed {
	effects := map[*ir.Function]*facts.Effects{}
	for _, f := range p.Functions {
		effects[f] = facts.EffectsOf(f, effects)
	}
	t := &printer{program: p, narrow: narrow, effects: effects, needs: map[string]need{}, types: map[*ir.Type]string{}, tables: map[*ir.Table]string{}, bodies: map[string]string{}, functions: map[variant]*printed{}, lists: listsOf(p)}
	runs := quirks.RunsOf(p, effects)
	for _, f := range p.Functions {
		if runs[f].Freely {
			t.function(f, false)
		}
		if runs[f].Waiting {
			t.function(f, true)
		}
	}
	return &Printed{t.whole(), t.prints, t.sites}
}

// whole returns the whole text.
func (p *printer) whole() string {
	var b strings.Builder
	open := need(0)
	within := func(n need) {
		if n != open && open != 0 {
			b.WriteString("#endif\n")
		}
		if n != open {
			b.WriteString(conditions[n])
		}
		open = n
	}
	head := slices.Concat(p.declared, p.filled, p.sizes, p.support)
	for _, d := range head {
		within(d.needs)
		b.WriteString(d.text)
	}
	for i, d := range p.code {
		within(d.needs)
		if i > 0 || len(head) > 0 {
			b.WriteString("\n")
		}
		if d.types == nil {
			b.WriteString(d.text)
			continue
		}
		b.WriteString("#if !defined(GO_TYPES)")
		for _, n := range d.types {
			fmt.Fprintf(&b, " || GO_TYPES == %d", n)
		}
		fmt.Fprintf(&b, "\n%s#endif\n", d.text)
	}
	within(0)
	return b.String()
}
