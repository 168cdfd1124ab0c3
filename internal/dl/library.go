package dl

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// Library is a shared library that stays loaded for the rest of the program. It is safe for concurrent use.
type Library struct {
	name   string
	handle uintptr
}

// Attempt is one library name that was tried, and why it did not load.
type Attempt struct {
	Name   string
	Reason string
}

// LoadError says that no library could be loaded. It is of kind [driver.ErrUnavailable].
type LoadError struct {
	Env    string    // the environment variable that names the library
	Tried  []Attempt // in the order they were tried
	Static bool      // the program is linked with -static, so that no name was tried
}

// Error lists every name with its reason, in one line.
func (e *LoadError) Error() string {
	if e.Static {
		return "this program is linked with -static and can load no libraries: link it without, or build it with CGO_ENABLED=0"
	}
	if len(e.Tried) == 0 {
		return "no library name to try"
	}
	var b strings.Builder
	b.WriteString("no library could be loaded (")
	for i, a := range e.Tried {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(a.Name + ": " + strings.TrimPrefix(a.Reason, a.Name+": "))
	}
	b.WriteString(")")
	if e.Env != "" {
		b.WriteString("; set " + e.Env + " to the library's path to override the names")
	}
	return b.String()
}

// Is reports whether target is driver.ErrUnavailable.
func (e *LoadError) Is(target error) bool { return target == driver.ErrUnavailable }

// MissingError says that a library lacks symbols that are not optional. It is of kind [driver.ErrUnavailable].
type MissingError struct {
	Library string
	Symbols []string
}

// Error names the library and every missing symbol, in one line.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s lacks %s", e.Library, strings.Join(e.Symbols, ", "))
}

// Is reports whether target is driver.ErrUnavailable.
func (e *MissingError) Is(target error) bool { return target == driver.ErrUnavailable }

// Open loads the first of the named libraries that can be loaded. If the environment variable env is set and not empty, only its value is
// tried. env may be empty. If no library can be loaded, the error is a *[LoadError].
//
// Opening the same library twice is cheap and gives two handles to one image.
func Open(env string, names ...string) (*Library, error) { return openFirst(env, names, false) }

// OpenVisible is [Open] for a library whose own plugins look for its symbols in the whole program: it is loaded with RTLD_GLOBAL. On
// Windows there is no difference.
func OpenVisible(env string, names ...string) (*Library, error) { return openFirst(env, names, true) }

func openFirst(env string, names []string, visible bool) (*Library, error) {
	if env != "" {
		if name := os.Getenv(env); name != "" {
			names = []string{name}
		}
	}
	if static() {
		return nil, &LoadError{Env: env, Static: true}
	}
	failed := &LoadError{Env: env}
	for _, name := range names {
		handle, err := open(name, visible)
		if err == nil {
			return &Library{name: name, handle: handle}, nil
		}
		reason := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " ")
		failed.Tried = append(failed.Tried, Attempt{Name: name, Reason: reason})
	}
	return nil, failed
}

// First is [Open] for libraries that may turn out to be unusable: it calls use with each of them, and returns the value of the first
// call that succeeds. The error of use is the reason why it does not accept one.
func First[T any](env string, names []string, use func(*Library) (T, error)) (T, error) {
	if name := os.Getenv(env); name != "" {
		names = []string{name}
	}
	failed := &LoadError{Env: env}
	for _, name := range names {
		l, err := Open("", name)
		if err == nil {
			var x T
			if x, err = use(l); err == nil {
				return x, nil
			}
		}
		if tried, ok := err.(*LoadError); ok {
			failed.Tried = append(failed.Tried, tried.Tried...)
			failed.Static = tried.Static
		} else {
			failed.Tried = append(failed.Tried, Attempt{Name: name, Reason: err.Error()})
		}
	}
	var none T
	return none, failed
}

// Name returns the name under which the library was found.
func (l *Library) Name() string { return l.name }

// Proc looks up a symbol. If the library lacks it, the result is not [Proc.Valid].
func (l *Library) Proc(symbol string) Proc { return Proc(lookup(l.handle, symbol)) }

// Fill looks up the symbols of a function table: a pointer to a struct, whose fields of type [Proc] name their symbol in a tag.
//
//	Alloc dl.Proc `sym:"cuMemAlloc_v2,cuMemAlloc"` // the first one found
//	Prefetch dl.Proc `sym:"cuMemPrefetchAsync,optional"`
//
// A field without the tag, and a field that is already valid, is left alone. Structs inside the table are filled the same way.
//
// missing lists each symbol that was not found, optional or not, by the first name in its tag. If some are not optional, the error is a
// *[MissingError] that names those; the fields of symbols that were found are filled even then.
func (l *Library) Fill(table any) (missing []string, err error) { return fill(l.name, l.Proc, table) }

// FillBy is [Library.Fill] for functions that a library gives out by name, such as those of an extension.
func FillBy(find func(symbol string) Proc, table any) error {
	_, err := fill("the library", find, table)
	return err
}

func fill(library string, find func(symbol string) Proc, table any) (missing []string, err error) {
	v := reflect.ValueOf(table)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, &driver.Error{Op: "fill", Device: -1, Kind: driver.ErrInvalidArgument,
			Detail: fmt.Sprintf("a function table must be a pointer to a struct, not %T", table)}
	}
	lack := &MissingError{Library: library}
	fillStruct(find, v.Elem(), &missing, lack)
	if len(lack.Symbols) > 0 {
		return missing, lack
	}
	return missing, nil
}

var procType = reflect.TypeFor[Proc]()

func fillStruct(find func(symbol string) Proc, v reflect.Value, missing *[]string, lack *MissingError) {
	for i := range v.NumField() {
		field, t := v.Field(i), v.Type().Field(i)
		if t.Type.Kind() == reflect.Struct && t.IsExported() {
			fillStruct(find, field, missing, lack)
			continue
		}
		tag, ok := t.Tag.Lookup("sym")
		if t.Type != procType || !ok || !field.CanSet() || field.Uint() != 0 {
			continue
		}
		names := strings.Split(tag, ",")
		last := len(names) - 1
		optional := last > 0 && names[last] == "optional"
		if optional {
			names = names[:last]
		}
		for _, name := range names {
			if p := find(name); p.Valid() {
				field.SetUint(uint64(p))
				break
			}
		}
		if field.Uint() == 0 {
			*missing = append(*missing, names[0])
			if !optional {
				lack.Symbols = append(lack.Symbols, names[0])
			}
		}
	}
}
