package main

import (
	"fmt"
	"strings"
)

// plainSignature returns the parameters and results of a function. If C returns a status, it is the last result.
func (c *call) plainSignature(l *list) string {
	names, types := c.parameters(l)
	if c.chained {
		return fmt.Sprintf("(c *dl.Chain, %s)", signature(names, types))
	}
	results, resultTypes := c.plainResults(l)
	if len(results) == 0 {
		return fmt.Sprintf("(%s)", signature(names, types))
	}
	return fmt.Sprintf("(%s) (%s)", signature(names, types), signature(results, resultTypes))
}

func (c *call) plainResults(l *list) (names, types []string) {
	names, types = c.results(l)
	switch t := c.resultType(l); t {
	case "":
	case "status":
		names, types = append(names, "st"), append(types, t)
	default:
		names, types = append([]string{"r"}, names...), append([]string{t}, types...)
	}
	return names, types
}

// resultType returns the type in Go of what C returns, or "".
func (c *call) resultType(l *list) string {
	if c.result == "void" {
		return ""
	}
	if strings.HasSuffix(c.result, "*") {
		return "uintptr"
	}
	return l.types[c.result].goType
}

// slot is a value that C reads or writes in a block of words.
type slot struct {
	block, index int
}

func (s slot) in() string    { return fmt.Sprintf("w%d[%d]", s.block, s.index) }
func (s slot) addr() string  { return fmt.Sprintf("w%d.At(%d)", s.block, s.index) }
func (s slot) store() string { return fmt.Sprintf("w%d[%d:]", s.block, s.index) }

// slots places the parameters that are passed by address in blocks of 8 words.
func (c *call) slots(l *list, linked bool) (at map[int]slot, blocks int) {
	at = map[int]slot{}
	next := 8
	for i, p := range c.params {
		if p.value != "" || p.kind != "out" && p.kind != "in" {
			continue
		}
		n := size(p.goType(l))
		if linked {
			n = max(n, l.types[p.base].words)
		}
		if next+n > 8 {
			blocks++
			next = 0
		}
		at[i] = slot{blocks - 1, next}
		next += n
	}
	return at, blocks
}

// body writes the statements around a call: values are put where C reads them, and results are read.
func (c *call) body(w *writer, l *list, linked bool, made string) {
	at, blocks := c.slots(l, linked)
	for b := range blocks {
		w.line("w%d := dl.GetWords()", b)
	}
	for i, p := range c.params {
		switch {
		case p.kind == "text":
			w.line("text := dl.CString(%s)", p.name)
		case p.kind == "in" && strings.HasPrefix(p.goType(l), "["):
			w.line("copy(%s, %s[:])", at[i].store(), p.name)
		case p.kind == "in":
			w.line("%s = uint64(%s)", at[i].in(), p.name)
		}
	}
	switch t := c.resultType(l); {
	case t == "":
		w.line("%s", made)
	case t == "status":
		w.line("st = status(%s)", made)
	case linked:
		w.line("h := %s\nr = *(*uintptr)(unsafe.Pointer(&h))", made)
	default:
		w.line("r = %s", made)
	}
	for i, p := range c.params {
		if p.kind == "out" && p.name != "_" {
			w.line("%s = %s(%s)", p.name, p.goType(l), at[i].in())
		}
	}
	for b := range blocks {
		w.line("w%d.Put()", b)
	}
	if results, _ := c.plainResults(l); len(results) > 0 {
		w.line("return %s", strings.Join(results, ", "))
	}
	w.line("}")
}

// plainCalls writes the tables, the addresses of the library's functions, and the functions that call them.
func (l *list) plainCalls(w *writer) {
	if l.build != "" {
		w.line("//go:build %s\n", l.build)
	}
	w.line("package %s\n", l.pkg)
	w.line("import (")
	if len(l.errors) > 0 {
		w.line("\"fmt\"\n\"unsafe\"\n\n\"github.com/go-halyard/halyard/hal/driver\"")
	} else {
		w.line("\"unsafe\"\n")
	}
	w.line("\"github.com/go-halyard/halyard/internal/dl\"\n)\n")
	if len(l.consts) > 0 {
		w.line("// The numbers of the headers.\nconst (")
		for _, k := range l.consts {
			w.line("%s = %s // %s", k.name, k.value, k.cName)
		}
		w.line(")\n")
	}
	for _, s := range l.structs {
		w.line("// %s is %s.\ntype %s struct {", s.name, s.cName, s.name)
		for _, p := range s.fields {
			if p.cType == "" {
				w.line("%s", p.name)
			} else {
				w.line("%s %s", p.name, p.goType(l))
			}
		}
		w.line("}\n")
	}
	if len(l.errors) > 0 {
		w.line("// status is what a call returns. Negative codes are errors.\ntype status int32\n")
		w.line("// known is one status that the library or an extension defines.\ntype known struct {\ncode status\nname string\nkind error\n}\n")
		w.line("// statuses are the statuses of errors, each with its kind of error.\nvar statuses = []known{")
		for _, e := range l.errors {
			w.line("{%s, %q, driver.%s},", e.code, e.name, e.kind)
		}
		w.line("}\n\nfunc (st status) known() known {\nfor _, k := range statuses {\nif k.code == st {\nreturn k\n}\n}\n" +
			"return known{st, fmt.Sprintf(\"status %%d\", st), driver.ErrDriver}\n}\n")
	}
	for _, table := range l.tables {
		if !table.extension {
			w.line("// %s holds the calls of a library. A function that the library lacks is nil.\ntype %s struct {", table.name, table.name)
			w.line("binding string // \"loaded\" or \"linked\"\nlibrary string // the name under which the library was found\n")
		} else {
			w.line("// %s holds calls that are found by their names. A function that is not found is nil.\ntype %s struct {", table.name, table.name)
		}
		for _, c := range l.calls {
			if c.table != table.name {
				continue
			}
			for _, d := range c.doc {
				w.line("%s", d)
			}
			w.line("%s func%s", c.name, c.plainSignature(l))
		}
		for _, f := range table.fields {
			w.line("%s", f)
		}
		w.line("}\n")
	}
	for _, table := range l.tables {
		l.loader(w, table)
	}
}

// loader writes the function that fills a table.
func (l *list) loader(w *writer, of table) {
	table, library := of.name, !of.extension
	procs := table + "Procs"
	w.line("// %s are the addresses of the functions.\ntype %s struct {", procs, procs)
	for _, c := range l.calls {
		if c.table == table {
			w.line("%s dl.Proc `sym:\"%s\"`", upper(c.name), c.c+map[bool]string{true: ",optional"}[c.optional])
		}
	}
	w.line("}\n")
	if library {
		w.line("// %s returns the calls of a library. If it lacks some that are not optional, the error names them.", of.loader)
		w.line("func %s(lib *dl.Library) (*%s, error) {", of.loader, table)
		w.line("p := new(%s)\nif _, err := lib.Fill(p); err != nil { return nil, err }", procs)
		w.line("t := &%s{binding: \"loaded\", library: lib.Name()}", table)
	} else {
		w.line("// %s returns the calls whose addresses find returns.", of.loader)
		w.line("// If some are missing that are not optional, the error names them.")
		w.line("func %s(find func(name string) dl.Proc) (*%s, error) {", of.loader, table)
		w.line("p := new(%s)\nif err := dl.FillBy(find, p); err != nil { return nil, err }\nt := new(%s)", procs, table)
	}
	for _, c := range l.calls {
		if c.table != table {
			continue
		}
		if c.optional {
			w.line("if p.%s.Valid() {", upper(c.name))
		}
		w.line("t.%s = func%s {", c.name, c.plainSignature(l))
		at, _ := c.slots(l, false)
		var args []string
		for i, p := range c.params {
			args = append(args, p.loaded(l, at[i]))
		}
		if c.chained { // C reads what they point to later
			for i, p := range c.params {
				if p.value == "" && p.goType(l) == "unsafe.Pointer" {
					args[i] = fmt.Sprintf("dl.Address(%s)", p.name)
				}
			}
			method := map[string]string{"": "Do", "status": "Status"}[c.resultType(l)]
			w.line("c.%s(%q, p.%s, %s)\n}", method, c.c, upper(c.name), strings.Join(args, ", "))
		} else {
			c.body(w, l, false, fmt.Sprintf("p.%s.Call%d(%s)", upper(c.name), len(args), strings.Join(args, ", ")))
		}
		if c.optional {
			w.line("}")
		}
	}
	w.line("return t, nil\n}\n")
}

// loaded returns the argument of a call by address.
func (p *param) loaded(l *list, at slot) string {
	t := p.goType(l)
	switch {
	case strings.HasPrefix(p.value, "len("):
		return fmt.Sprintf("uintptr(%s)", p.value)
	case p.value != "":
		return p.value
	case p.kind == "out" || p.kind == "in":
		return at.addr()
	case p.kind == "text":
		return "uintptr(unsafe.Pointer(&text[0]))"
	case strings.HasPrefix(t, "[]"):
		return fmt.Sprintf("uintptr(unsafe.Pointer(unsafe.SliceData(%s)))", p.name)
	case t == "uintptr":
		return p.name
	}
	return fmt.Sprintf("uintptr(%s)", p.name)
}

// plainLinked writes the function that replaces the linked calls of the first table by those of another package.
func (l *list) plainLinked(w *writer) {
	w.line("//go:build %s && linked && cgo\n\npackage %s\n", l.build, l.pkg)
	w.line("import (\n\"unsafe\"\n\n%s %q\n\n\"github.com/go-halyard/halyard/internal/dl\"\n)\n", l.importName, l.importPath)
	w.line("// link replaces calls of the table by those of %s.\nfunc link(t *%s) {\nt.binding = \"linked\"", l.importPath, l.tables[0].name)
	for _, c := range l.calls {
		if !c.linked {
			continue
		}
		at, _ := c.slots(l, true)
		var args []string
		for i, p := range c.params {
			args = append(args, p.linked(l, at[i]))
		}
		w.line("t.%s = func%s {", c.name, c.plainSignature(l))
		c.body(w, l, true, fmt.Sprintf("%s.%s(%s)", l.importName, strings.TrimPrefix(c.c, "cl"), strings.Join(args, ", ")))
	}
	w.line("}")
}

// linked returns the argument of a call of the other package.
func (p *param) linked(l *list, at slot) string {
	t := l.types[p.base]
	pointer := func(addr string) string {
		if t.pointer == "-" {
			return fmt.Sprintf("unsafe.Pointer(%s)", addr)
		}
		return fmt.Sprintf("(*%s)(unsafe.Pointer(%s))", t.pointer, addr)
	}
	switch {
	case strings.HasPrefix(p.value, "len("):
		return fmt.Sprintf("%s(%s)", t.goType, p.value)
	case p.value == "0" && strings.Contains(p.cType, "*"):
		return "nil"
	case p.value != "":
		return p.value
	case p.kind == "out" || p.kind == "in":
		return pointer("&" + at.in())
	case p.kind == "text":
		return "&text[0]"
	case p.kind == "bytes":
		return fmt.Sprintf("unsafe.Pointer(unsafe.SliceData(%s))", p.name)
	case p.kind == "list":
		return pointer(fmt.Sprintf("unsafe.SliceData(%s)", p.name))
	case strings.Contains(p.cType, "*"):
		return fmt.Sprintf("dl.Pointer(%s)", p.name)
	case t.linked != "":
		return strings.ReplaceAll(t.linked, "$", p.name)
	}
	return p.name
}
