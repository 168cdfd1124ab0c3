package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// list is a parsed list of prototypes.
type list struct {
	form, pkg, build, header string
	importName, importPath   string
	types                    map[string]ctype
	consts                   []constant
	structs                  []structure
	errors                   []status
	calls                    []*call
	tables                   []table
}

// table is a struct of functions and the function that fills it.
type table struct {
	name, loader string
	extension    bool     // its functions are looked up by a function that the program gives
	fields       []string // that the program fills itself
}

// ctype says how a C type is passed.
type ctype struct {
	goType  string
	linked  string // the expression that makes the linked package's value of $; "" if $ itself serves
	pointer string // what the linked package wants a pointer to; "-" for unsafe.Pointer
	words   int    // how many words a result takes
}

type constant struct{ name, value, cName string }

type status struct{ code, name, kind string }

// structure is a struct of C; a field without a type is another structure, which it begins with.
type structure struct {
	name, cName string
	fields      []param
}

// call is one prototype.
type call struct {
	name, c, result string
	doc             []string
	params          []param
	since, older    string
	table           string // its heading
	bound           bool
	optional        bool
	linked, own     bool
	chained         bool
}

// param is one parameter of a prototype.
type param struct {
	kind  string // "", out, in, text, bytes, list, texts or ptr
	cType string // with const and *, as it is written
	base  string // without them
	name  string
	array int    // the number in name[n], 0 without one
	value string // of a constant; "" for a parameter
}

// builtin are the types that every list has.
var builtin = map[string]ctype{
	"int": {goType: "int32"}, "unsigned int": {goType: "uint32"}, "unsigned char": {goType: "uint8"}, "unsigned short": {goType: "uint16"},
	"size_t": {goType: "uintptr"}, "float": {goType: "float32"}, "address": {goType: "uintptr"},
}

func parse(text string) (*list, error) {
	l := &list{types: map[string]ctype{}}
	for name, t := range builtin {
		l.types[name] = t
	}
	var doc []string
	var heading string
	bound := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		var err error
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "//"):
			doc = append(doc, line)
		case line == "bound" || line == "unbound":
			bound = line == "bound"
		case (words[0] == "table" || words[0] == "extension") && len(words) == 3:
			heading = words[1]
			l.tables = append(l.tables, table{name: words[1], loader: words[2], extension: words[0] == "extension"})
		case words[0] == "field" && heading != "":
			last := &l.tables[len(l.tables)-1]
			last.fields, doc = append(append(last.fields, doc...), strings.TrimPrefix(line, "field ")), nil
		case words[0] == "struct":
			err = l.parseStruct(line)
		case strings.HasSuffix(words[0], ":"):
			var c *call
			if c, err = parseCall(line); err == nil {
				c.doc, c.table, c.bound = doc, heading, bound
				l.calls, doc = append(l.calls, c), nil
			}
		default:
			err = l.directive(words)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	return l, l.check()
}

// directive parses a line of the list's head.
func (l *list) directive(words []string) error {
	set := map[string]*string{"form": &l.form, "package": &l.pkg, "build": &l.build, "cgo": &l.header}
	switch {
	case len(words) == 2 && set[words[0]] != nil:
		*set[words[0]] = words[1]
	case len(words) == 3 && words[0] == "import":
		l.importName, l.importPath = words[1], words[2]
	case len(words) >= 3 && words[0] == "type":
		t := ctype{goType: words[2]}
		if len(words) > 3 && words[3] != "$" {
			t.linked = words[3]
		}
		if len(words) > 4 {
			pointer, size, _ := strings.Cut(words[4], "/")
			t.pointer = pointer
			t.words, _ = strconv.Atoi(size)
		}
		l.types[words[1]] = t
	case len(words) >= 4 && words[0] == "const" && words[2] == "=":
		l.consts = append(l.consts, constant{words[1], words[3], strings.Join(words[4:], " ")})
	case len(words) == 4 && words[0] == "error":
		l.errors = append(l.errors, status{words[1], words[2], words[3]})
	default:
		return fmt.Errorf("cannot be understood: %q", strings.Join(words, " "))
	}
	return nil
}

var (
	prototype = regexp.MustCompile(`^(\w+):\s*(.*?)(\w+)\((.*)\)$`)
	structs   = regexp.MustCompile(`^struct (\w+) (\w+): (.*)$`)
	parameter = regexp.MustCompile(`^(?:(out|in|text|bytes|list|texts|ptr) )?(.*?)(\w+)(?:\[(\d+)\])?(?: = (.+))?$`)
	qualifier = regexp.MustCompile(`\bconst\b|\*`)
)

func parseCall(line string) (*call, error) {
	line, rest, _ := strings.Cut(line, ";")
	m := prototype.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("no prototype: %q", line)
	}
	c := &call{name: m[1], result: strings.TrimSpace(m[2]), c: m[3]}
	var err error
	if c.params, err = parseParams(c.name, m[4]); err != nil {
		return nil, err
	}
	if strings.TrimSpace(rest) == "" {
		return c, nil
	}
	for _, word := range strings.Split(rest, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), " ")
		switch key {
		case "optional":
			c.optional = true
		case "linked":
			c.linked = true
		case "own":
			c.own = true
		case "chained":
			c.chained = true
		case "since":
			c.since = value
		case "older":
			c.older = value
		default:
			return nil, fmt.Errorf("%s: no such word: %q", c.name, word)
		}
	}
	return c, nil
}

func parseParams(of, list string) (params []param, err error) {
	for _, text := range split(list) {
		p := parameter.FindStringSubmatch(text)
		if p == nil {
			return nil, fmt.Errorf("%s: no parameter: %q", of, text)
		}
		n, _ := strconv.Atoi(p[4])
		params = append(params, param{kind: p[1], cType: strings.TrimSpace(p[2]), name: p[3], array: n, value: p[5],
			base: strings.Join(strings.Fields(qualifier.ReplaceAllString(p[2], " ")), " ")})
	}
	return params, nil
}

func (l *list) parseStruct(line string) error {
	m := structs.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("no structure: %q", line)
	}
	fields, err := parseParams(m[1], m[3])
	l.structs = append(l.structs, structure{m[1], m[2], fields})
	l.types[m[2]] = ctype{goType: m[1]}
	return err
}

func split(params string) []string {
	if params == "" || params == "void" {
		return nil
	}
	return strings.Split(params, ", ")
}

// check reports a type that the list does not name.
func (l *list) check() error {
	for _, s := range l.structs {
		for _, p := range s.fields {
			if p.cType != "" && p.goType(l) == "" {
				return fmt.Errorf("%s: the type %q of %s is not in the list", s.name, p.cType, p.name)
			}
		}
	}
	for _, c := range l.calls {
		for _, p := range c.params {
			if !c.own && p.value == "" && p.goType(l) == "" {
				return fmt.Errorf("%s: the type %q of %s is not in the list", c.name, p.cType, p.name)
			}
		}
	}
	return nil
}

// exists reports whether the vendor has the call.
func (c *call) exists() bool { return c.c != "none" }

// exported reports whether the call belongs to the interface that backends share.
func (c *call) exported() bool { return !c.own && c.name[0] < 'a' }

// goType returns the type of the parameter, or of the result, in Go.
func (p *param) goType(l *list) string {
	pointers := strings.Count(p.cType, "*")
	switch {
	case p.kind == "text" || p.kind == "out" && p.array > 0:
		return "string"
	case p.kind == "bytes":
		return "[]byte"
	case p.kind == "list":
		return "[]uintptr"
	case p.kind == "texts":
		return "[]unsafe.Pointer"
	case p.kind == "ptr":
		return "unsafe.Pointer"
	case p.kind == "out" || p.kind == "in":
		pointers--
	}
	if pointers > 0 {
		return "uintptr"
	}
	t := l.types[p.base].goType
	if p.array > 0 && t != "" {
		return fmt.Sprintf("[%d]%s", p.array, t)
	}
	return t
}

// parameters returns the names and types of the call's parameters in Go.
func (c *call) parameters(l *list) (names, types []string) {
	for _, p := range c.params {
		if p.value == "" && p.kind != "out" {
			names, types = append(names, p.name), append(types, p.goType(l))
		}
	}
	return names, types
}

// results returns the names and types of the results that out parameters become.
func (c *call) results(l *list) (names, types []string) {
	for _, p := range c.params {
		if p.kind == "out" && p.name != "_" {
			names, types = append(names, p.name), append(types, p.goType(l))
		}
	}
	return names, types
}

// size returns how many words a value of a type takes.
func size(goType string) int {
	switch {
	case goType == "cudahip.IPCHandle":
		return 8
	case goType == "[16]byte" || goType == "[2]uint64":
		return 2
	case goType == "[3]uint64":
		return 3
	}
	return 1
}
