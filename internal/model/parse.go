package model

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads what String writes. It ignores empty lines and lines that begin with #.
func Parse(text string) (p Program, err error) {
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if p.Elements == 0 {
			if _, err := fmt.Sscanf(line, "%d", &p.Elements); err != nil || p.Elements < 1 {
				return p, fmt.Errorf("line %d: %q is no number of elements", n+1, line)
			}
			continue
		}
		var o Operation
		if _, err := fmt.Sscanf(line, format, &o.Kind, &o.Place, &o.Stream, &o.Lo, &o.Hi, &o.From, &o.To); err != nil {
			return p, fmt.Errorf("line %d: %q: %w", n+1, line, err)
		}
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == o.Kind })
		if i < 0 || !kinds[i].fits(o, p.Elements) {
			return p, fmt.Errorf("line %d: %q is no operation on %d elements", n+1, line, p.Elements)
		}
		p.Operations = append(p.Operations, o)
	}
	if p.Elements == 0 {
		return p, fmt.Errorf("the number of elements is missing")
	}
	return p, nil
}

// fits reports whether an operation has the places and ranges of its kind.
func (k kind) fits(o Operation, elements int) bool {
	within := func(lo, hi, first, end int, used bool) bool {
		return !used && lo == 0 && hi == 0 || used && first <= lo && lo < hi && hi <= end
	}
	return (o.Place == 0 && k.host || o.Place > 0 && k.devices) && o.Stream >= 0 &&
		within(o.Lo, o.Hi, 0, elements, k.ranged) && within(o.From, o.To, o.Lo, o.Hi, k.writes)
}
