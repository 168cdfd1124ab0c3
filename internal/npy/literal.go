package npy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-halyard/halyard/hal"
)

// literal parses a header, which is a Python dictionary.
type literal struct {
	text string
	pos  int
	// old says that the header is of a version before 3: Latin-1, and perhaps with the L that Python 2 wrote after integers.
	old bool
}

// parse reads the dictionary, whose keys may come in any order, each once.
func parse(text string, old bool) (h Header, err error) {
	l := &literal{text: text, old: old}
	if err := l.expect("{"); err != nil {
		return Header{}, err
	}
	seen := map[string]bool{}
	for !l.take("}") {
		key, err := l.str()
		if err != nil {
			return Header{}, err
		}
		if seen[key] {
			return Header{}, l.wrong("duplicate key %q", key)
		}
		seen[key] = true
		if err := l.expect(":"); err != nil {
			return Header{}, err
		}
		switch key {
		case "descr":
			h.Type, h.BigEndian, err = l.descr()
		case "fortran_order":
			h.Fortran, err = l.boolean()
		case "shape":
			h.Shape, err = l.tuple()
		default:
			err = l.wrong("unknown key %q", key)
		}
		if err != nil {
			return Header{}, err
		}
		if !l.take(",") {
			if err := l.expect("}"); err != nil {
				return Header{}, err
			}
			break
		}
	}
	if l.skip(); l.pos < len(l.text) {
		return Header{}, hal.Errorf("read npy header", hal.ErrInvalidArgument,
			"unexpected text after the dictionary, at byte %d of the header's text", l.pos)
	}
	if len(seen) != 3 {
		return Header{}, l.wrong("descr, fortran_order or shape is missing")
	}
	return h, nil
}

func (l *literal) wrong(format string, args ...any) error {
	args = append(args, l.pos)
	return hal.Errorf("read npy header", hal.ErrInvalidArgument, format+" at byte %d of the dictionary", args...)
}

func (l *literal) skip() {
	for l.pos < len(l.text) && strings.IndexByte(" \t\r\n\f", l.text[l.pos]) >= 0 {
		l.pos++
	}
}

func (l *literal) rest() string {
	l.skip()
	return l.text[l.pos:]
}

func (l *literal) take(token string) bool {
	if !strings.HasPrefix(l.rest(), token) {
		return false
	}
	l.pos += len(token)
	return true
}

func (l *literal) expect(token string) error {
	if !l.take(token) {
		return l.wrong("missing %q", token)
	}
	return nil
}

// str reads a string without escapes. Python 2 wrote a u before those of Unicode.
func (l *literal) str() (string, error) {
	if s := l.rest(); len(s) > 1 && s[0] == 'u' && (s[1] == '\'' || s[1] == '"') {
		l.pos++
	}
	s := l.text[l.pos:]
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", l.wrong("missing string")
	}
	n := strings.IndexByte(s[1:], s[0])
	if n < 0 || strings.ContainsAny(s[1:1+n], "\\\n") {
		return "", l.wrong("unterminated string, or a string with escapes,")
	}
	l.pos += n + 2
	s = s[1 : 1+n]
	if l.old {
		latin := make([]rune, n)
		for i := range n {
			latin[i] = rune(s[i])
		}
		s = string(latin)
	}
	if !utf8.ValidString(s) {
		return "", l.wrong("string %q, which is no UTF-8,", s)
	}
	return s, nil
}

func (l *literal) descr() (t Type, big bool, err error) {
	if strings.HasPrefix(l.rest(), "[") {
		t, err = l.record()
		return t, bigEndian, err
	}
	descr, err := l.str()
	if err != nil {
		return Type{}, false, err
	}
	return parseType(descr)
}

func (l *literal) boolean() (bool, error) {
	switch {
	case l.take("True"):
		return true, nil
	case l.take("False"):
		return false, nil
	}
	return false, l.wrong("neither True nor False")
}

func (l *literal) tuple() ([]int, error) {
	if err := l.expect("("); err != nil {
		return nil, err
	}
	shape := []int{}
	for !l.take(")") {
		n, err := l.integer()
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
		if l.take(",") {
			continue
		}
		if len(shape) == 1 {
			return nil, l.wrong("number instead of a tuple")
		}
		if err := l.expect(")"); err != nil {
			return nil, err
		}
		break
	}
	return shape, nil
}

func (l *literal) integer() (int, error) {
	s := l.rest()
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n == 0 || s[0] == '0' && n > 1 {
		return 0, l.wrong("missing or invalid extent")
	}
	v, err := strconv.ParseInt(s[:n], 10, strconv.IntSize)
	if err != nil {
		return 0, hal.Errorf("read npy header", hal.ErrOutOfRange, "extent %s exceeds the range of int", s[:n])
	}
	l.pos += n
	if l.old && n < len(s) && s[n] == 'L' {
		l.pos++
	}
	return int(v), nil
}
