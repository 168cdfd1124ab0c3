package translate

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Launch answers what the generated file says of the launches of a kernel. The answers come from the representation of kernels.
type Launch interface {
	// Footprint returns the function that computes what the threads of a box touch, under a name, and the value that has it: see kernel.Footprint.
	Footprint(name string) (function, value string)

	// Said returns what people are told: the dimensions in which the grid can be cut, why it cannot be cut, and what a thread uses of each slice.
	Said() (cut [3]bool, why string, slices []string)

	// Steps returns the elements of driver.Function.Steps, or "" if the work of a thread has no bound.
	Steps() string

	// Over returns the launcher's expression of the grid, "" if the kernel does not say it. names are those of the launcher's arguments. hidden tells that
	// max is not the builtin function.
	Over(names []string, hidden bool) string

	// Rounds returns the bound of the rounds of all loops, as kernel.Written.Rounds has it, nil if there are few or none. from is the first loop, at the one
	// that the most rounds are due to, as far as that is known.
	Rounds() (most [][]string, from, at token.Pos)
}

// Footprint says what a kernel touches, for people.
type Footprint struct {
	Kernel string
	Pos    token.Position
	Cut    [3]bool  // the dimensions in which the grid can be cut
	Why    string   // why it cannot be cut
	Slices []string // what a thread uses of each slice, such as "x: reads rows y-1 to y+1"
}

// looped is what is known of a kernel's loops.
type looped struct {
	most     [][]string // nil if there are few or none
	from, at token.Pos
}

// literal returns the elements of kernel.Written.Rounds.
func (l looped) literal() string {
	var b strings.Builder
	for _, product := range l.most {
		fmt.Fprintf(&b, "{%s}, ", strings.Join(product, ", "))
	}
	return b.String()
}

// answered asks for what the generated file says of launches. An error that is an [Errors] says what has no representation.
func (p *program) answered() (err error) {
	if p.own.Launches == nil {
		return errors.New("no package answers what the generated file says of launches")
	}
	p.launches, err = p.own.Launches(p.own)
	return err
}

// over returns the text of an expression for the grid of a kernel's launch, "" if the kernel does not say it.
func (f *function) over() string {
	at := slices.IndexFunc(f.params, func(m *param) bool { return m.kind == thread })
	return f.launch.Over(slices.Delete(slices.Clone(f.argNames), at, at+1), f.p.pkg.types.Scope().Lookup("max") != nil)
}
