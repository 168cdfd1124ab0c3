// Command protogen writes the Go code that calls a vendor's library, from a list of the C prototypes of its calls.
//
//	go run github.com/go-halyard/halyard/internal/testing/protogen calls.txt
//
// writes calls_gen.go beside the list, and calls_linked_gen.go if calls of the list are linked. With -interface FILE
// it writes to that file the interface that backends of the same form share.
//
// # The list
//
// An empty line, or one that begins with #, is skipped. A line that begins with // becomes the comment of the next call. Other lines are
//
//	form bound | plain | proc   see below
//	package NAME                of the generated files
//	build TAG                   their build tag
//	cgo <cuda.h>                the header for linked calls of the form bound
//	import NAME PATH            the package that makes the linked calls of the form plain
//	type CTYPE GOTYPE [EXPR [POINTER[/WORDS]]]
//	                            the Go type of a C type. In the form plain EXPR is the value of $ that the linked package takes, POINTER what
//	                            it wants a pointer to (- for unsafe.Pointer), and WORDS how many words it writes there
//	const NAME = VALUE CNAME    a number of the interface, under the name that the backend gives it
//	error CODE CNAME Kind       a status, with the kind of error of package hal/driver
//	struct NAME CNAME: FIELDS   in the form plain, a structure with the fields of CNAME, in the form of parameters; a field that is only
//	                            a name is a structure of the list, which this one begins with
//	NAME: PROTOTYPE; WORD; …    a call
//
// NAME is the call's name in Go, PROTOTYPE a C declaration, whose parameters may have one more word in front:
//
//	size_t n            a parameter in Go too
//	unsigned flags = 0  a constant, which is no parameter in Go. len(x) is the number of elements of the parameter x.
//	unsigned grid[3]    three parameters in C, one array in Go
//	out int *n          a result in Go; if the name is _, it is dropped
//	out char s[256]     a text as a result
//	in size_t *n        a value in Go, whose address is passed
//	text char *s        a string
//	bytes void *b       a slice of bytes; so are list (of words) and texts (of pointers)
//	ptr void *p         an unsafe.Pointer; without the word, a pointer is a number
//
// The words after the prototype are
//
//	optional     a library without the call can be used
//	since 11.2   the release that brought the call
//	older NAME   the name of the call in older libraries, where it takes the same arguments
//	linked       the linked binding makes the call; other calls are made by address in both bindings
//	own          the backend makes the call itself; only its address is looked up
//	chained      in the form plain: the function in Go adds the call to a dl.Chain, its first parameter, and has no results
//
// If the C function is named none, the vendor has no such call.
//
// # Forms
//
// Bound is the form of CUDA and HIP, with package cudahip. Each call is a method of the type calls. Under the heading
// "bound", a call first makes its context current, in the same crossing from Go to C; under "unbound" it needs none.
// Linked calls are C functions that do the same.
//
// Plain is the form of libraries without a current context, such as OpenCL. Each call is a field of a struct of
// functions. A heading "table NAME LOADER" names the struct and the function that fills it from a library; in place
// of table, "extension" is for functions that are looked up by a function which the program gives. Under the heading,
// "field NAME TYPE" is a field that the program fills itself.
//
// Proc is the form of package dl itself, and lists no calls: procs_gen.go has a method of Proc for each number of arguments.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	shared := flag.String("interface", "", "write the interface of the calls to this `file` instead")
	flag.Parse()
	if err := run(flag.Arg(0), *shared, os.WriteFile); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run writes the files of a list with write.
func run(path, shared string, write func(name string, data []byte, mode os.FileMode) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	l, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	dir := filepath.Dir(path)
	files := map[string]func(*writer){}
	switch {
	case shared != "":
		files[shared] = l.sharedInterface
	case l.form == "proc":
		files[filepath.Join(dir, "procs_gen.go")] = l.procCalls
	case l.form == "bound":
		files[filepath.Join(dir, "calls_gen.go")] = l.boundCalls
		if l.header != "" {
			files[filepath.Join(dir, "calls_linked_gen.go")] = l.boundLinked
		}
	default:
		files[filepath.Join(dir, "calls_gen.go")] = l.plainCalls
		if l.importPath != "" {
			files[filepath.Join(dir, "calls_linked_gen.go")] = l.plainLinked
		}
	}
	for name, emit := range files {
		w := &writer{}
		w.line("// Code generated by internal/testing/protogen from %s; DO NOT EDIT.", filepath.Base(path))
		w.line("")
		emit(w)
		code, err := format.Source(w.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, w.Bytes())
		}
		if err := write(name, code, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// numbers are the numbers of arguments for which there is a method.
var numbers = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

// procCalls writes the methods of dl.Proc.
func (l *list) procCalls(w *writer) {
	w.line("package %s\n", l.pkg)
	for n, word := range numbers {
		params, places, s := make([]string, n), make([]string, n), "s"
		for i := range n {
			params[i], places[i] = fmt.Sprintf("a%d", i), fmt.Sprintf("f.args[%d]", i)
		}
		if n == 1 {
			s = ""
		}
		w.line("// Call%d calls the function with %s argument%s.\n//\n//go:uintptrescapes", n, word, s)
		w.line("func (p Proc) Call%d(%s) uintptr {", n, signature(params, slices.Repeat([]string{"uintptr"}, n)))
		w.line("f := frames.Get().(*frame)")
		for i := 0; i < n; i += 6 {
			end := min(i+6, n)
			w.line("%s = %s", strings.Join(places[i:end], ", "), strings.Join(params[i:end], ", "))
		}
		w.line("return f.call(p, %d)\n}\n", n)
	}
}

// writer collects the text of a file.
type writer struct{ bytes.Buffer }

// line writes lines. A long line of code is broken after commas.
func (w *writer) line(format string, args ...any) {
	for _, line := range strings.Split(fmt.Sprintf(format, args...), "\n") {
		for len(line) > columns && !strings.HasPrefix(line, "//") {
			at := strings.LastIndex(line[:columns], ", ")
			if at < 0 {
				break
			}
			w.WriteString(line[:at] + ",\n")
			line = "\t" + line[at+2:]
		}
		w.WriteString(line + "\n")
	}
}

// columns leaves room for indentation.
const columns = 125

// signature returns "a, b uintptr, n uint64" for names and their types.
func signature(names, types []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
		if i == len(names)-1 || types[i+1] != types[i] {
			b.WriteString(" " + types[i])
		}
	}
	return b.String()
}
