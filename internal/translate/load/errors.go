package load

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Error is the refusal of one thing that has no translation, or one error of the compiler.
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

// Sorted returns errors in the order of their positions, without duplicates. If there are none, it returns nil.
func Sorted(list []Error) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b Error) int {
		if n := strings.Compare(a.Pos.Filename, b.Pos.Filename); n != 0 {
			return n
		}
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Column-b.Pos.Column)
	})
	return Errors(slices.CompactFunc(list, func(a, b Error) bool { return a.Error() == b.Error() })) // a function that is called twice is refused once
}
