package npy

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// A record is NumPy's word for a structure. The header describes it by a list of its fields, as in [('X', '<f4'), ('At', '<f8',
// (2,))]. Bytes between two fields are a field without a name.

// recordOf returns the type of a structure of Go.
func recordOf(t reflect.Type) (Type, error) {
	text, err := record(t)
	return Type{'V', int(t.Size()), text}, err
}

// record returns the list of the fields of a structure.
func record(t reflect.Type) (string, error) {
	var fields []string
	end := uintptr(0)
	pad := func(to uintptr) {
		if to > end {
			fields = append(fields, fmt.Sprintf("('', '|V%d')", to-end))
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" || f.Type.Size() == 0 {
			continue
		}
		if strings.ContainsFunc(f.Name, func(r rune) bool { return r > 127 }) {
			return "", hal.Errorf("npy type", hal.ErrUnsupported, "the name of field %s of %v has letters that are not of ASCII", f.Name, t)
		}
		elem, shape := f.Type, ""
		for ; elem.Kind() == reflect.Array; elem = elem.Elem() {
			shape += strconv.Itoa(elem.Len()) + ","
		}
		var text string
		if u, err := typeFor(elem); err != nil {
			return "", err
		} else if text = u.Fields; text == "" {
			text = "'" + u.order(bigEndian) + u.String() + "'"
		}
		if shape != "" {
			text += ", (" + shape + ")"
		}
		pad(f.Offset)
		fields = append(fields, fmt.Sprintf("('%s', %s)", f.Name, text))
		end = f.Offset + f.Type.Size()
	}
	pad(t.Size())
	return "[" + strings.Join(fields, ", ") + "]", nil
}

// record reads the list of a record's fields, and returns it in the form that recordOf writes.
func (l *literal) record() (Type, error) {
	const op, most = "read npy header", math.MaxInt32
	if err := l.expect("["); err != nil {
		return Type{}, err
	}
	var fields []string
	size := 0
	for !l.take("]") {
		if err := l.expect("("); err != nil {
			return Type{}, err
		}
		if strings.HasPrefix(l.rest(), "(") {
			return Type{}, hal.Errorf(op, hal.ErrUnsupported, "a field with a title, at byte %d of the dictionary, is not supported", l.pos)
		}
		name, err := l.str()
		if err == nil {
			err = l.expect(",")
		}
		var t Type
		var text string
		switch rest := l.rest(); {
		case err != nil:
		case rest != "" && rest[0] == '[':
			t, err = l.record()
			text = t.Fields
		default:
			var descr string
			if descr, err = l.str(); err != nil {
				break
			}
			if n, ok := strings.CutPrefix(descr, "|V"); ok && name == "" {
				if t.Size, err = strconv.Atoi(n); err != nil || t.Size < 0 {
					err = l.wrong("padding of type %q", descr)
				}
				text = "'" + descr + "'"
				break
			}
			var big bool
			if t, big, err = parseType(descr); err == nil && big != bigEndian {
				err = hal.Errorf(op, hal.ErrUnsupported, "field %q has the other byte order than this machine", name)
			}
			text = "'" + t.order(bigEndian) + t.String() + "'"
		}
		if err != nil {
			return Type{}, err
		}
		n := 1
		if l.take(",") {
			shape, err := l.tuple()
			if err != nil {
				return Type{}, err
			}
			text += ", ("
			for _, e := range shape {
				text += strconv.Itoa(e) + ","
				if n *= e; n > most {
					return Type{}, hal.Errorf(op, hal.ErrUnsupported, "field %q is larger than %d bytes", name, most)
				}
			}
			text += ")"
		}
		if size += n * t.Size; t.Size > most || size > most {
			return Type{}, hal.Errorf(op, hal.ErrUnsupported, "the records are larger than %d bytes", most)
		}
		quote := "'"
		if strings.Contains(name, quote) {
			quote = `"`
		}
		fields = append(fields, "("+quote+name+quote+", "+text+")")
		if err := l.expect(")"); err != nil {
			return Type{}, err
		}
		if !l.take(",") {
			if err := l.expect("]"); err != nil {
				return Type{}, err
			}
			break
		}
	}
	return Type{'V', size, "[" + strings.Join(fields, ", ") + "]"}, nil
}
