package translate

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Error is one thing that has no translation, or one error of the compiler.
type Error struct {
	Pos  token.Position
	Text string
}

func (e Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Text) }

// Errors are all errors of a package, in the order of their positions.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// refusal is the value of a panic that ends the translation of a statement.
type refusal struct {
	pos  token.Pos
	text string
}

func refuse(pos token.Pos, format string, args ...any) {
	panic(refusal{pos, fmt.Sprintf(format, args...)})
}

// try calls f. If f panics with a refusal, try notes the error.
func (p *program) try(f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			if r.text != "" {
				p.note(r.pos, r.text)
			}
		default:
			panic(r)
		}
	}()
	f()
}

func (p *program) note(pos token.Pos, text string) {
	e := Error{p.pkg.Fset.Position(pos), text}
	if !slices.Contains(p.errs, e) {
		p.errs = append(p.errs, e)
	}
}

func (p *program) failed() error {
	if len(p.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(p.errs, func(a, b Error) int {
		if n := strings.Compare(a.Pos.Filename, b.Pos.Filename); n != 0 {
			return n
		}
		return a.Pos.Offset - b.Pos.Offset
	})
	return p.errs
}
