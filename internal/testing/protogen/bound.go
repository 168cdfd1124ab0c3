package main

import (
	"fmt"
	"strings"
)

// sharedInterface writes the numbers of the calls and the interface that the calls of each vendor have.
func (l *list) sharedInterface(w *writer) {
	w.line("package cudahip\n")
	w.line("// Call identifies one function of a vendor's library.\ntype Call uint8\n\n// The calls.\nconst (")
	for i, c := range l.calls {
		if i == 0 {
			w.line("Call%s Call = iota", upper(c.name))
			continue
		}
		w.line("Call%s", upper(c.name))
	}
	w.line("NumCalls\n)\n")
	w.line("// Calls are the calls that pass their arguments to the vendor's library as they are. They are alike in CUDA and HIP.")
	w.line("type Calls interface {")
	for _, c := range l.calls {
		if !c.exported() {
			continue
		}
		for _, d := range c.doc {
			w.line("%s", d)
		}
		w.line("%s", strings.ReplaceAll(c.name+c.boundSignature(l), "cudahip.", ""))
	}
	w.line("}")
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// boundSignature returns the parameters and results of a method.
func (c *call) boundSignature(l *list) string {
	names, types := c.parameters(l)
	if c.bound {
		names, types = append([]string{"ctx"}, names...), append([]string{"cudahip.Context"}, types...)
	}
	results, resultTypes := c.results(l)
	if len(results) == 0 {
		return fmt.Sprintf("(%s) cudahip.Code", signature(names, types))
	}
	return fmt.Sprintf("(%s) (%s)", signature(names, types), signature(append(results, "code"), append(resultTypes, "cudahip.Code")))
}

// boundCalls writes the names under which a library exports the calls, and the methods that call them by address.
func (l *list) boundCalls(w *writer) {
	w.line("//go:build %s\n\npackage %s\n", l.build, l.pkg)
	l.imports(w, l.method)
	w.line("// symbols are the names under which the library exports the calls.\nvar symbols = cudahip.Symbols{")
	for _, c := range l.calls {
		if !c.exists() {
			continue
		}
		fields := fmt.Sprintf("Name: %q", c.c)
		if c.older != "" {
			fields += fmt.Sprintf(", Older: %q", c.older)
		}
		if c.since != "" {
			fields += fmt.Sprintf(", Since: %q", c.since)
		}
		if c.optional {
			fields += ", Optional: true"
		}
		w.line("cudahip.Call%s: {%s},", upper(c.name), fields)
	}
	w.line("}\n")
	l.codes(w)
	w.line("// calls makes the calls by the addresses of a table.\ntype calls struct{ *cudahip.Table }\n")
	w.line("%s", l.methods(l.method))
}

// codes writes the meanings of the statuses.
func (l *list) codes(w *writer) {
	if len(l.errors) == 0 {
		return
	}
	w.line("// codes are the statuses, each with its kind of error.\nvar codes = cudahip.Codes{")
	for _, e := range l.errors {
		w.line("%s: {Name: %q, Kind: driver.%s},", e.code, e.name, e.kind)
	}
	w.line("}\n")
}

func (l *list) methods(method func(*writer, *call)) string {
	w := &writer{}
	for _, c := range l.calls {
		if !c.own {
			method(w, c)
		}
	}
	return w.String()
}

// imports writes the imports that the methods, and the statuses of a list, need.
func (l *list) imports(w *writer, method func(*writer, *call)) {
	text := l.methods(method)
	w.line("import (")
	for _, name := range []string{"math", "runtime", "unsafe"} {
		if strings.Contains(text, name+".") {
			w.line("%q", name)
		}
	}
	w.line("")
	if len(l.errors) > 0 {
		w.line("\"github.com/go-halyard/halyard/hal/driver\"")
	}
	w.line("\"github.com/go-halyard/halyard/internal/cudahip\"")
	if strings.Contains(text, "dl.") {
		w.line("\"github.com/go-halyard/halyard/internal/dl\"")
	}
	w.line(")\n")
}

func (l *list) method(w *writer, c *call) {
	receiver := "t"
	if !c.exists() {
		receiver = ""
	}
	w.line("func (%s calls) %s%s {", receiver, c.name, c.boundSignature(l))
	defer w.line("}\n")
	results, _ := c.results(l)
	if !c.exists() {
		if len(results) > 0 {
			w.line("code = cudahip.CodeNotSupported\nreturn")
		} else {
			w.line("return cudahip.CodeNotSupported")
		}
		return
	}
	if c.bound {
		w.line("f := t.Frame(cudahip.Call%s, ctx)", upper(c.name))
	} else {
		w.line("f := t.Unbound(cudahip.Call%s)", upper(c.name))
	}
	var before, args, after, keep []string
	word := 0
	for _, p := range c.params {
		switch {
		case p.value != "":
			args = append(args, p.value)
		case p.kind == "out" && p.array > 0:
			args, after = append(args, "f.TextAddr()"), append(after, fmt.Sprintf("%s = f.TextString(%d)", p.name, p.array))
		case p.kind == "out":
			t := p.goType(l)
			if n := size(t); n > 1 {
				before = append(before, fmt.Sprintf("clear(f.Out[%d:%d])", word, word+n))
			} else {
				before = append(before, fmt.Sprintf("f.Out[%d] = 0", word))
			}
			args = append(args, fmt.Sprintf("f.OutAddr(%d)", word))
			if p.name != "_" {
				after = append(after, fmt.Sprintf("%s = %s", p.name, fromWord(t, word)))
			}
			word += size(t)
		case p.kind == "text":
			before = append(before, fmt.Sprintf("text := dl.CString(%s)", p.name))
			args, keep = append(args, "dl.Address(unsafe.Pointer(&text[0]))"), append(keep, "runtime.KeepAlive(text)")
		case p.kind == "bytes":
			args = append(args, fmt.Sprintf("dl.Address(unsafe.Pointer(unsafe.SliceData(%s)))", p.name))
			keep = append(keep, fmt.Sprintf("runtime.KeepAlive(%s)", p.name))
		case p.array > 0:
			for i := range p.array {
				args = append(args, fmt.Sprintf("uintptr(%s[%d])", p.name, i))
			}
		case p.goType(l) == "uintptr":
			args = append(args, p.name)
		default:
			args = append(args, fmt.Sprintf("uintptr(%s)", p.name))
		}
	}
	places := make([]string, len(args))
	for i := range places {
		places[i] = fmt.Sprintf("f.Args[%d]", i)
	}
	for _, line := range before {
		w.line("%s", line)
	}
	if len(args) > 0 {
		w.line("%s = %s", strings.Join(places, ", "), strings.Join(args, ", "))
	}
	if len(results) > 0 {
		w.line("code = f.Call()")
	} else {
		w.line("code := f.Call()")
	}
	for _, line := range append(keep, after...) {
		w.line("%s", line)
	}
	w.line("f.Put()")
	w.line("return %s", strings.Join(append(results, "code"), ", "))
}

// fromWord returns the expression for a result.
func fromWord(goType string, word int) string {
	switch {
	case size(goType) > 1:
		return fmt.Sprintf("*(*%s)(unsafe.Pointer(&f.Out[%d]))", goType, word)
	case goType == "float32":
		return fmt.Sprintf("math.Float32frombits(uint32(f.Out[%d]))", word)
	}
	return fmt.Sprintf("%s(f.Out[%d])", goType, word)
}

// cTypes are the C types of integers that cgo passes.
var cTypes = map[string]string{"uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "int32": "int32_t"}

func word(goType string) string {
	if t := cTypes[goType]; t != "" {
		return t
	}
	return "uintptr_t"
}

// boundLinked writes C functions that make a context current and then make a call, and the methods that call them.
func (l *list) boundLinked(w *writer) {
	w.line("//go:build %s && linked && cgo\n\npackage %s\n", l.build, l.pkg)
	w.line(`/*
#include <stdint.h>
#include %s

// The number that the driver returned, with bit 32 set if cuCtxSetCurrent returned it, and the results.
typedef struct {
	int64_t code;
	uintptr_t r0, r1;
} made;

static int64_t bind(uintptr_t ctx) {
	CUresult bound = cuCtxSetCurrent((CUcontext)ctx);
	return bound == CUDA_SUCCESS ? 0 : (int64_t)1 << 32 | (uint32_t)bound;
}`, l.header)
	for _, c := range l.calls {
		if c.linked {
			l.cFunction(w, c)
		}
	}
	w.line("*/\nimport \"C\"\n\nimport (")
	if strings.Contains(l.methods(l.linkedMethod), "unsafe.") {
		w.line("\"unsafe\"\n")
	}
	w.line("\"github.com/go-halyard/halyard/internal/cudahip\"\n)\n")
	w.line("%s", l.methods(l.linkedMethod))
}

func (l *list) cFunction(w *writer, c *call) {
	params := []string{"uintptr_t ctx"}
	var args []string
	var before, after string
	results := 0
	for _, p := range c.params {
		switch t := p.goType(l); {
		case p.value != "":
			args = append(args, p.value)
		case p.kind == "out":
			before += fmt.Sprintf("\t%s r%d = 0;\n", strings.TrimSpace(strings.TrimSuffix(p.cType, "*")), results)
			after += fmt.Sprintf(", (uintptr_t)r%d", results)
			args = append(args, fmt.Sprintf("&r%d", results))
			results++
		case p.array > 0:
			for i := range p.array {
				params, args = append(params, fmt.Sprintf("uint32_t %s%d", p.name, i)), append(args, fmt.Sprintf("%s%d", p.name, i))
			}
		default:
			params, args = append(params, word(t)+" "+p.name), append(args, fmt.Sprintf("(%s)%s", p.cType, p.name))
		}
	}
	call := fmt.Sprintf("%s(%s)", c.c, strings.Join(args, ", "))
	if results == 0 {
		w.line("\nstatic int64_t halyard_%s(%s) {\n\tint64_t code = bind(ctx);\n\treturn code ? code : (int64_t)(uint32_t)%s;\n}",
			c.name, strings.Join(params, ", "), call)
		return
	}
	w.line("\nstatic made halyard_%s(%s) {\n%s\tint64_t code = bind(ctx);\n\tif (!code) code = (uint32_t)%s;\n\treturn (made){code%s};\n}",
		c.name, strings.Join(params, ", "), before, call, after)
}

func (l *list) linkedMethod(w *writer, c *call) {
	if !c.linked {
		return
	}
	args := []string{"C.uintptr_t(ctx)"}
	for _, p := range c.params {
		t := p.goType(l)
		switch {
		case p.value != "" || p.kind == "out":
		case p.array > 0:
			for i := range p.array {
				args = append(args, fmt.Sprintf("C.uint32_t(%s[%d])", p.name, i))
			}
		case t == "unsafe.Pointer":
			args = append(args, fmt.Sprintf("C.uintptr_t(uintptr(%s))", p.name))
		default:
			args = append(args, fmt.Sprintf("C.%s(%s)", word(t), p.name))
		}
	}
	w.line("func (linked) %s%s {", c.name, c.boundSignature(l))
	results, types := c.results(l)
	call := fmt.Sprintf("C.halyard_%s(%s)", c.name, strings.Join(args, ", "))
	if len(results) == 0 {
		w.line("return cudahip.Code(%s)\n}\n", call)
		return
	}
	w.line("m := %s", call)
	var values []string
	for i, t := range types {
		values = append(values, fmt.Sprintf("%s(m.r%d)", t, i))
	}
	w.line("return %s, cudahip.Code(m.code)\n}\n", strings.Join(values, ", "))
}
