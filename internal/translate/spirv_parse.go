package translate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file reads the C text of a translation, for spirv.go. It knows what the translator writes, and no more of C.

// cType is a type of the C text.
type cType struct {
	kind   cKind
	bits   int  // of a number
	signed bool // of an integer
	name   string
	fields []cField // of a structure
	elem   *cType   // of an array or a pointer
	n      int      // elements of an array
	space  space    // that a pointer points to
	only   bool     // what a pointer points to is only read
}

type cField struct {
	name string
	typ  *cType
}

type cKind int

const (
	cVoid  cKind = iota
	cTruth       // what a comparison gives; it becomes an i32 where C says so
	cInt
	cFloat
	cStruct
	cArray
	cPointer
)

var (
	cNothing = &cType{kind: cVoid, name: "void"}
	cCond    = &cType{kind: cTruth, name: "truth"}
	cNumbers = map[string]*cType{}
)

func init() {
	for _, n := range numbers {
		k := cInt
		if n.float {
			k = cFloat
		}
		cNumbers[n.c] = &cType{kind: k, bits: n.bits, signed: n.signed, name: n.c}
	}
}

// size and align return the bytes of a type in a buffer, as in Go and in C.
func (t *cType) size() int {
	switch t.kind {
	case cArray:
		return t.n * t.elem.size()
	case cStruct:
		end := 0
		for i, f := range t.fields {
			end = t.offset(i) + f.typ.size()
		}
		return (end + t.align() - 1) / t.align() * t.align()
	case cPointer:
		return 8
	}
	return t.bits / 8
}

func (t *cType) align() int {
	switch t.kind {
	case cArray:
		return t.elem.align()
	case cStruct:
		a := 1
		for _, f := range t.fields {
			a = max(a, f.typ.align())
		}
		return a
	}
	return t.size()
}

// offset returns where a field of a structure begins.
func (t *cType) offset(field int) (at int) {
	for i, f := range t.fields {
		at = (at + f.typ.align() - 1) / f.typ.align() * f.typ.align()
		if i == field {
			break
		}
		at += f.typ.size()
	}
	return at
}

// cExpr is an expression. op is an operator of C, or "num", "id", "call", ".", "[]", "cast", "?", "{0}", and "*" and "&" and "-" with one
// operand.
type cExpr struct {
	op   string
	text string // a number, a name, or the member
	typ  *cType // of a cast, or what a macro is given
	args []*cExpr
}

// cStmt is a statement: "{", "decl", "expr", "=", "if", "for", "do", "return", "break", "continue", "goto" or "label".
type cStmt struct {
	op     string
	typ    *cType
	name   string // declared, or a label
	local  bool   // it declares memory that a block shares
	x, y   *cExpr // the condition or place, and the value
	list   []*cStmt
	init   []*cStmt
	step   []*cStmt
	orElse *cStmt
}

type cFunction struct {
	name   string
	kernel bool
	result *cType
	params []cField
	body   *cStmt
}

// cProgram is the text.
type cProgram struct {
	types     map[string]*cType
	functions map[string]*cFunction
	mode      checks

	tokens []string
	at     int
}

// cOperators are the operators of several characters, the longer before those that they begin with.
var cOperators = []string{"<<=", ">>=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<=", ">=", "==", "!="}

// cTokens cuts a text into words, numbers and operators, without comments.
func cTokens(text string) (tokens []string) {
	for len(text) > 0 {
		n := 1
		switch c := text[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			text = text[1:]
			continue
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text, "*/")
			continue
		case isWord(c):
			for n < len(text) && (isWord(text[n]) || '0' <= c && c <= '9' && partOfNumber(text[:n+1])) {
				n++
			}
		default:
			for _, op := range cOperators {
				if strings.HasPrefix(text, op) {
					n = len(op)
					break
				}
			}
		}
		tokens, text = append(tokens, text[:n]), text[n:]
	}
	return tokens
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// partOfNumber reports whether a number goes on with the last character of a text: a point, or the sign of an exponent.
func partOfNumber(text string) bool {
	before, last := text[len(text)-2], text[len(text)-1]
	return last == '.' || (last == '+' || last == '-') && (before == 'e' || before == 'E') && !strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0X")
}

// checks are what a module reports.
type checks int

const (
	reportsNothing checks = iota
	reportsRounds         // whether the device has ended a loop
	reportsBounds         // that, and indexes out of range
)

// parseC reads a text.
func parseC(text string, mode checks) (p *cProgram, err error) {
	p = &cProgram{types: map[string]*cType{}, functions: map[string]*cFunction{}, mode: mode}
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(cError)
			if !ok {
				panic(r)
			}
			err = bad
		}
	}()
	for _, t := range cTokens(preprocessed(text, mode)) {
		args := ""
		switch {
		case t == "GO_FAULTS" && mode > 0:
			args = ", GLOBAL u32 * go_faults"
		case t == "GO_FAULTS_ALONE" && mode > 0:
			args = "GLOBAL u32 * go_faults"
		case t == "GO_PASS" && mode > 0:
			args = ", go_faults"
		case t == "GO_PASS_ALONE" && mode > 0:
			args = "go_faults"
		case t == "GO_LOOPED" && mode > 0:
			args = "go_looped ( go_faults ) ;"
		case strings.HasPrefix(t, "GO_FAULTS"), t == "GO_LOOPED", strings.HasPrefix(t, "GO_PASS"):
		default:
			p.tokens = append(p.tokens, t)
		}
		p.tokens = append(p.tokens, strings.Fields(strings.ReplaceAll(args, ",", ", "))...)
	}
	for p.at < len(p.tokens) {
		p.declaration()
	}
	return p, nil
}

// cError is something that has no form in SPIR-V, in the words of an error.
type cError string

func (e cError) Error() string { return string(e) }

func cFail(format string, args ...any) { panic(cError(fmt.Sprintf(format, args...))) }

var directive = regexp.MustCompile(`[#\w]+`)

// preprocessed returns a text without the lines for the preprocessor, and without what they leave out for a device of Vulkan.
func preprocessed(text string, mode checks) string {
	known := []string{"HALYARD_FLOAT64", "GO_ATOMIC64"}
	if mode == reportsBounds {
		known = append(known, "HALYARD_BOUNDS")
	}
	var b strings.Builder
	var kept []bool
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			if !slices.Contains(kept, false) {
				b.WriteString(line)
			}
			continue
		}
		words := directive.FindAllString(line, -1)
		switch words[0] {
		case "#ifdef", "#if":
			names := slices.DeleteFunc(words[1:], func(w string) bool { return w == "defined" })
			kept = append(kept, !slices.ContainsFunc(names, func(w string) bool { return !slices.Contains(known, w) }))
		case "#ifndef":
			kept = append(kept, !slices.Contains(known, words[1]))
		case "#else":
			kept[len(kept)-1] = !kept[len(kept)-1]
		case "#elif":
			kept[len(kept)-1] = false
		case "#endif":
			kept = kept[:len(kept)-1]
		}
	}
	return b.String()
}

func (p *cProgram) peek(i int) string {
	if p.at+i < len(p.tokens) {
		return p.tokens[p.at+i]
	}
	return ""
}

func (p *cProgram) next() string {
	t := p.peek(0)
	p.at = min(p.at+1, len(p.tokens))
	return t
}

func (p *cProgram) accept(t string) bool {
	if p.peek(0) == t {
		p.at++
		return true
	}
	return false
}

func (p *cProgram) expect(t string) {
	if got := p.next(); got != t {
		cFail("%q stands where the text should have %q, after %q", got, t, strings.Join(p.tokens[max(0, p.at-12):max(0, p.at-1)], " "))
	}
}

// isType reports whether a type begins at a token.
func (p *cProgram) isType(i int) bool {
	switch t := p.peek(i); t {
	case "const", "GLOBAL", "LOCAL", "GO_LOCAL", "void":
		return true
	default:
		return cNumbers[t] != nil || p.types[t] != nil
	}
}

// typ reads a type.
func (p *cProgram) typ() *cType {
	in, only := private, false
	for {
		switch p.peek(0) {
		case "const":
			only = true
		case "GLOBAL":
			in = global
		case "LOCAL", "GO_LOCAL":
			in = local
		default:
			name := p.next()
			t := cNumbers[name]
			if t == nil {
				t = p.types[name]
			}
			if name == "void" {
				t = cNothing
			}
			if t == nil {
				cFail("%q is no type", name)
			}
			for p.accept("*") {
				t = &cType{kind: cPointer, elem: t, space: in, bits: 64, only: only}
			}
			return t
		}
		p.at++
	}
}

// declaration reads a type or a function.
func (p *cProgram) declaration() {
	if p.accept(";") {
		return
	}
	if p.accept("typedef") {
		if !p.accept("struct") { // it only lets a compiler check the size of a type
			for p.at < len(p.tokens) && p.next() != ";" {
			}
			return
		}
		t := &cType{kind: cStruct}
		p.expect("{")
		for !p.accept("}") {
			elem := p.typ()
			for {
				f := cField{p.next(), elem}
				if p.accept("[") {
					n, _ := strconv.Atoi(p.next())
					f.typ = &cType{kind: cArray, elem: elem, n: n}
					p.expect("]")
				}
				t.fields = append(t.fields, f)
				if !p.accept(",") {
					break
				}
			}
			p.expect(";")
		}
		t.name = p.next()
		p.types[t.name] = t
		p.expect(";")
		return
	}
	f := &cFunction{kernel: p.peek(0) == "KERNEL"}
	p.next() // KERNEL or FUNCTION
	f.result = p.typ()
	f.name = p.next()
	p.expect("(")
	for !p.accept(")") {
		if p.peek(0) == "void" && p.peek(1) == ")" {
			p.next()
			continue
		}
		t := p.typ()
		f.params = append(f.params, cField{p.next(), t})
		p.accept(",")
	}
	f.body = p.statement()
	p.functions[f.name] = f
}

// statement reads a statement.
func (p *cProgram) statement() *cStmt {
	switch t := p.peek(0); {
	case t == "{":
		p.next()
		s := &cStmt{op: "{"}
		for !p.accept("}") {
			s.list = append(s.list, p.statement())
		}
		return s
	case t == "if":
		p.next()
		p.expect("(")
		s := &cStmt{op: "if", x: p.expression(0)}
		p.expect(")")
		s.list = []*cStmt{p.statement()}
		if p.accept("else") {
			s.orElse = p.statement()
		}
		return s
	case t == "GO_ORDERED":
		p.next()
		return p.statement()
	case t == "GO_UNROLL":
		p.next()
		p.unary()
		return p.statement()
	case t == "for":
		p.next()
		p.expect("(")
		s := &cStmt{op: "for"}
		s.init = p.simple(";")
		if p.peek(0) != ";" {
			s.x = p.expression(0)
		}
		p.expect(";")
		s.step = p.simple(")")
		s.list = []*cStmt{p.statement()}
		return s
	case t == "do":
		p.next()
		s := &cStmt{op: "do", list: []*cStmt{p.statement()}}
		p.expect("while")
		p.expect("(")
		s.x = p.expression(0)
		p.expect(")")
		p.expect(";")
		return s
	case t == "return":
		p.next()
		s := &cStmt{op: "return"}
		if p.peek(0) != ";" {
			s.x = p.expression(0)
		}
		p.expect(";")
		return s
	case t == "break" || t == "continue":
		p.next()
		p.expect(";")
		return &cStmt{op: t}
	case t == "goto":
		p.next()
		s := &cStmt{op: "goto", name: p.next()}
		p.expect(";")
		return s
	case p.peek(1) == ":" && t != "?":
		p.at += 2
		p.accept(";")
		return &cStmt{op: "label", name: t}
	}
	list := p.simple(";")
	if len(list) == 1 {
		return list[0]
	}
	return &cStmt{op: "all", list: list}
}

// simple reads declarations, assignments or a call, up to a token and with it.
func (p *cProgram) simple(end string) (list []*cStmt) {
	if p.accept(end) {
		return nil
	}
	if p.isType(0) {
		in := p.peek(0) == "LOCAL"
		t := p.typ()
		for {
			s := &cStmt{op: "decl", typ: t, name: p.next(), local: in}
			if p.accept("=") {
				s.y = p.initial()
			}
			list = append(list, s)
			if !p.accept(",") {
				break
			}
		}
		p.expect(end)
		return list
	}
	for {
		x := p.expression(0)
		s := &cStmt{op: "expr", x: x}
		switch t := p.peek(0); t {
		case "=":
			p.next()
			s.op, s.y = "=", p.initial()
		case "++", "--":
			p.next()
			s.op, s.y = "=", &cExpr{op: t[:1], args: []*cExpr{x, {op: "num", text: "1"}}}
		case "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
			p.next()
			s.op, s.y = "=", &cExpr{op: strings.TrimSuffix(t, "="), args: []*cExpr{x, p.expression(0)}}
		}
		list = append(list, s)
		if !p.accept(",") {
			break
		}
	}
	p.expect(end)
	return list
}

// initial reads the value of a variable.
func (p *cProgram) initial() *cExpr {
	if p.accept("{") {
		p.expect("0")
		p.expect("}")
		return &cExpr{op: "{0}"}
	}
	return p.expression(0)
}

// cPrecedence is how strongly operators bind.
var cPrecedence = map[string]int{"||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
	"<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11}

// expression reads an expression of operators that bind at least so strongly.
func (p *cProgram) expression(least int) *cExpr {
	x := p.unary()
	for {
		op := p.peek(0)
		n, ok := cPrecedence[op]
		switch {
		case ok && n >= least:
			p.next()
			x = &cExpr{op: op, args: []*cExpr{x, p.expression(n + 1)}}
		case op == "?" && least <= 1:
			p.next()
			then := p.expression(1)
			p.expect(":")
			x = &cExpr{op: "?", args: []*cExpr{x, then, p.expression(1)}}
		default:
			return x
		}
	}
}

func (p *cProgram) unary() *cExpr {
	switch t := p.next(); t {
	case "-", "+", "~", "!", "*", "&":
		return &cExpr{op: t, args: []*cExpr{p.unary()}}
	case "(":
		var x *cExpr
		if p.isType(0) {
			t := p.typ()
			p.expect(")")
			return &cExpr{op: "cast", typ: t, args: []*cExpr{p.unary()}}
		}
		x = p.expression(0)
		p.expect(")")
		return p.postfix(x)
	default:
		if t == "" || !strings.ContainsAny(t[:1], "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") {
			p.at--
			p.expect("an operand")
		}
		if t[0] <= '9' {
			return &cExpr{op: "num", text: t}
		}
		return p.postfix(&cExpr{op: "id", text: t})
	}
}

func (p *cProgram) postfix(x *cExpr) *cExpr {
	for {
		switch p.peek(0) {
		case ".":
			p.next()
			x = &cExpr{op: ".", text: p.next(), args: []*cExpr{x}}
		case "[":
			p.next()
			x = &cExpr{op: "[]", args: []*cExpr{x, p.expression(0)}}
			p.expect("]")
		case "(":
			p.next()
			call := &cExpr{op: "call", text: x.text}
			for !p.accept(")") {
				if len(call.args) == 0 && call.typ == nil && p.isType(0) {
					call.typ = p.typ()
				} else {
					call.args = append(call.args, p.expression(0))
				}
				p.accept(",")
			}
			x = p.expanded(call)
		default:
			return x
		}
	}
}

// expanded replaces the macros that are nothing but another expression here.
func (p *cProgram) expanded(e *cExpr) *cExpr {
	cast := func(t string, x *cExpr) *cExpr { return &cExpr{op: "cast", typ: cNumbers[t], args: []*cExpr{x}} }
	two := func(op string, x, y *cExpr) *cExpr { return &cExpr{op: op, args: []*cExpr{x, y}} }
	num := func(n string) *cExpr { return &cExpr{op: "num", text: n} }
	switch e.text {
	case "GO_ONCE", "GO_COUNT":
		return e.args[0]
	case "GO_WHOLE":
		return num("0")
	case "GO_AT":
		if p.mode == reportsBounds {
			faults := &cExpr{op: "id", text: "go_faults"}
			return &cExpr{op: "call", text: "go_at", args: []*cExpr{cast("i64", e.args[0]), cast("i64", e.args[1]), e.args[2], faults}}
		}
		return e.args[0]
	case "GO_CELL":
		if p.mode == reportsBounds {
			faults := &cExpr{op: "id", text: "go_faults"}
			return &cExpr{op: "call", text: "go_cell", args: []*cExpr{cast("i64", e.args[0]), cast("i64", e.args[1]), cast("i64", e.args[2]),
				cast("i64", e.args[3]), e.args[4], faults}}
		}
		return cast("i64", two("+", two("*", cast("u64", e.args[0]), cast("u64", e.args[3])), cast("u64", e.args[1])))
	case "GO_CUT":
		return &cExpr{op: "cast", typ: e.typ, args: e.args}
	case "GO_F32":
		return cast("f32", e.args[0])
	case "GO_NOT":
		return &cExpr{op: "cast", typ: e.typ, args: []*cExpr{{op: "~", args: e.args}}}
	case "GO_MINUS":
		zero, x := &cExpr{op: "cast", typ: e.typ, args: []*cExpr{num("0")}}, &cExpr{op: "cast", typ: e.typ, args: e.args}
		return two("-", zero, x)
	case "GO_NEG_F32", "GO_NEG_F64":
		return &cExpr{op: "-", args: e.args}
	case "INDEX":
		dim := e.args
		call := func(name string) *cExpr { return &cExpr{op: "call", text: name, args: dim} }
		return two("+", two("*", call("BLOCK"), call("THREADS")), call("THREAD"))
	}
	return e
}
