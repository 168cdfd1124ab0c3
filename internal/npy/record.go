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

// mostRecord is the largest size of a record in bytes.
const mostRecord = math.MaxInt32

// record reads the list of a record's fields, and returns it in the form that recordOf writes.
func (l *literal) record() (Type, error) {
	if err := l.expect("["); err != nil {
		return Type{}, err
	}
	var fields []string
	size := 0
	for !l.take("]") {
		text, n, err := l.field()
		if err != nil {
			return Type{}, err
		}
		if size += n; size > mostRecord {
			return Type{}, hal.Errorf("read npy header", hal.ErrUnsupported, "the records are larger than %d bytes", mostRecord)
		}
		fields = append(fields, text)
		if !l.take(",") {
			if err := l.expect("]"); err != nil {
				return Type{}, err
			}
			break
		}
	}
	return Type{'V', size, "[" + strings.Join(fields, ", ") + "]"}, nil
}

// field reads a field of a record: its name, its type, and a shape if it has one. text is what record writes for it.
func (l *literal) field() (text string, size int, err error) {
	const op = "read npy header"
	if err := l.expect("("); err != nil {
		return "", 0, err
	}
	if strings.HasPrefix(l.rest(), "(") {
		return "", 0, hal.Errorf(op, hal.ErrUnsupported, "a field with a title, at byte %d of the dictionary, is not supported", l.pos)
	}
	name, err := l.str()
	if err == nil {
		err = l.expect(",")
	}
	if err != nil {
		return "", 0, err
	}
	if text, size, err = l.fieldType(name); err != nil {
		return "", 0, err
	}
	if l.take(",") {
		shape, err := l.tuple()
		if err != nil {
			return "", 0, err
		}
		text += ", ("
		n := 1
		for _, e := range shape {
			text += strconv.Itoa(e) + ","
			if n *= e; n > mostRecord {
				return "", 0, hal.Errorf(op, hal.ErrUnsupported, "field %q is larger than %d bytes", name, mostRecord)
			}
		}
		text += ")"
		if size > mostRecord {
			return "", 0, hal.Errorf(op, hal.ErrUnsupported, "field %q is larger than %d bytes", name, mostRecord)
		}
		size *= n
	}
	quote := "'"
	if strings.Contains(name, quote) {
		quote = `"`
	}
	return "(" + quote + name + quote + ", " + text + ")", size, l.expect(")")
}

// fieldType reads the type of a field, which is a record itself, padding if it has no name, or a number.
func (l *literal) fieldType(name string) (text string, size int, err error) {
	if strings.HasPrefix(l.rest(), "[") {
		t, err := l.record()
		return t.Fields, t.Size, err
	}
	descr, err := l.str()
	if err != nil {
		return "", 0, err
	}
	if n, ok := strings.CutPrefix(descr, "|V"); ok && name == "" {
		if size, err = strconv.Atoi(n); err != nil || size < 0 {
			return "", 0, l.wrong("padding of type %q", descr)
		}
		return "'" + descr + "'", size, nil
	}
	t, big, err := parseType(descr)
	if err == nil && big != bigEndian {
		err = hal.Errorf("read npy header", hal.ErrUnsupported, "field %q has the other byte order than this machine", name)
	}
	return "'" + t.order(bigEndian) + t.String() + "'", t.Size, err
}
