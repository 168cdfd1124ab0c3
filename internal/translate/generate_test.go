package translate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator writes random kernels in the subset that translates. The kernels are valid Go with results that Go defines: divisors are odd, shift
// counts are not negative, indexes are masked, and no expression reads what a call in it changes. No operation has only constant operands, so that
// no constant overflows.
type generator struct {
	*rand.Rand
	b      strings.Builder
	depth  int
	names  int
	scopes []map[string]string // types of variables, by name
	frozen map[string]bool     // variables that are not assigned to
	id     int
	helps  []help
	loops  []string
	calls  bool
	inside bool            // of a kernel, whose place and structure the functions that it calls do not have
	keeps  bool            // the kernel has barriers, and so may not change its parameter
	leave  func()          // writes a return, if threads may leave here
	rounds int             // how many more rounds its long loops may have
	large  int             // how many more wide switches, deep nestings and long expressions it may have
	tile   string          // the type of the rows of the kernel's tile, if it has one
	sized  string          // the type of the elements of the kernel's shared memory of a launch's length, if it has some
	types  map[string]bool // of the values that operations combine
	free   int             // how many bytes of shared memory are left for others
	single bool            // no operation needs float64 if Wide is float32, and none is atomic on 64 bits
}

// shape is the grid of a kernel: how many dimensions, the threads of a block, the blocks, and how many threads at the end find no element.
type shape struct {
	dims          int
	block, blocks [3]int
	beyond        int
}

// shaped returns the grid of the kernel of a seed: blocks of 1 to 1024 threads.
func shaped(seed uint64) shape {
	r := rand.New(rand.NewPCG(seed, 2))
	s := shape{1 + r.IntN(3), [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0}
	left, most := 300, 1
	switch r.IntN(16) {
	case 0:
		left = 1024
	case 1, 2, 3:
	default:
		left = 40
	}
	for d := range s.dims {
		s.block[d] = 1 + r.IntN(max(1, left>>(2*(s.dims-1-d))))
		left /= s.block[d]
		s.blocks[d] = 1 + r.IntN(1+3/s.dims)
		most *= s.block[d]
	}
	if s.dims == 1 {
		s.blocks[0] += r.IntN(3)
	}
	s.beyond = r.IntN(most)
	return s
}

// group is how many threads a block has, and total how many the grid has.
func (s shape) group() int { return s.block[0] * s.block[1] * s.block[2] }
func (s shape) total() int { return s.group() * s.blocks[0] * s.blocks[1] * s.blocks[2] }

// help is a helper function.
type help struct {
	name    string
	params  []string
	result  string
	pointer bool // its first parameter is a pointer to an int32
	generic bool // its parameters and its result have one type, which may be any integer type
}

var (
	integers = []string{"int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint"}
	scalars  = append([]string{"float32", "Wide", "bool"}, integers...)
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, strings.Repeat("\t", g.depth)+format+"\n", args...)
}

func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("v%d", g.names)
}

// variable returns a variable of a type, or "".
func (g *generator) variable(t string, assign bool) string {
	var found []string
	for n := 1; n <= g.names; n++ { // not over the maps, whose order is random
		name := fmt.Sprintf("v%d", n)
		for _, s := range g.scopes {
			if s[name] == t && !(assign && g.frozen[name]) {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return pick(g, found)
}

func isFloat(t string) bool { return t == "float32" || t == "Wide" }

// leaf returns a value that is not a constant.
func (g *generator) leaf(t string) string {
	if v := g.variable(t, false); v != "" && g.IntN(3) > 0 {
		return v
	}
	if v := g.variable("[4]"+t, false); v != "" && g.IntN(2) == 0 {
		return fmt.Sprintf("%s[%s&3]", v, g.leafInteger())
	}
	if g.inside && g.IntN(5) == 0 {
		switch {
		case t == "bool":
		case isFloat(t) && g.IntN(3) == 0:
			return fmt.Sprintf(pick(g, []string{"(-%s(%s))", "%s(%s)"}), t, pick(g, []string{"i", "l", "t.Global(0)", "t.Local(0)", "t.Block(0)"}))
		case isFloat(t):
			return t + pick(g, []string{"(i)", "(l)", "(p.F)", "(p.G)", "(-p.F)"})
		default:
			return t + pick(g, []string{"(i)", "(l)", "(t.Local(0))", "(p.N)", "(p.L[i&7])", "(p.L[l%8])", "(p.L[3])"})
		}
	}
	if g.inside && g.IntN(6) == 0 {
		from := g.elem()
		switch t {
		case "bool":
			return from + ".On"
		case "int16":
			return from + ".A"
		case "float32":
			return from + ".In.F"
		case "Wide":
			return from + ".G"
		case "uint32":
			return fmt.Sprintf("%s.List[%s&1]", from, g.leafInteger())
		}
	}
	if v := g.variable(fmt.Sprintf("rec%d", g.id), false); v != "" && g.IntN(2) == 0 {
		switch t {
		case "int16":
			return v + ".a"
		case "float32":
			return v + ".in.f"
		case "uint32":
			return fmt.Sprintf("%s.list[%s&1]", v, g.leafInteger())
		}
	}
	switch n := g.IntN(4); {
	case n == 0:
		return fmt.Sprintf("tableOf%s[%s]", t, pick(g, []string{"2", "5", "u&7", "u>>3&7", "u%7"}))
	case t == "bool":
		return "(u&1 == 0)"
	case isFloat(t):
		return t + "(w)"
	case n == 1 && t != "uint32":
		return fmt.Sprintf("%s(tableOfRows[u&1][%s])", t, pick(g, []string{"1", "u%3"}))
	}
	return t + "(u)"
}

// elem returns an element of the kernel's buffer of structures, or a copy of one.
func (g *generator) elem() string {
	if v := g.variable("Elem", false); v != "" && g.IntN(2) == 0 {
		return v
	}
	return "e[i]"
}

func (g *generator) leafInteger() string {
	if v := g.variable(pick(g, []string{"int8", "int32", "uint16", "uint64"}), false); v != "" {
		return v
	}
	return "u"
}

func (g *generator) constant(t string) string {
	switch {
	case isFloat(t):
		return t + pick(g, []string{"(0.5)", "(-1.25)", "(3)", "(1e10)", "(0)", "(0.1)", "(-1)"})
	case t == "bool":
		return pick(g, []string{"true", "false"})
	case t[0] == 'i':
		return t + pick(g, []string{"(0)", "(1)", "(-1)", "(127)", "(-128)", "(85)"})
	}
	return t + pick(g, []string{"(0)", "(1)", "(255)", "(170)", "(128)"})
}

// value returns an expression of a type. deep is the number of levels that it may have.
func (g *generator) value(t string, deep int) string {
	if deep <= 0 {
		return g.leaf(t)
	}
	right := func() string {
		if g.IntN(4) == 0 {
			return g.constant(t)
		}
		return g.value(t, deep-1)
	}
	if g.calls && g.IntN(8) == 0 {
		for _, h := range g.helps {
			switch {
			case h.generic && slices.Contains(integers, t):
				return fmt.Sprintf("%s[%s](%s, %s)", h.name, t, g.value(t, deep-1), g.value(t, deep-1))
			case h.result == t && !h.pointer:
				return g.call(h, deep-1)
			}
		}
	}
	left := func() string { return g.value(t, deep-1) }
	switch {
	case t == "bool":
		switch g.IntN(6) {
		case 2: // arrays and structures are compared as a whole
			for _, whole := range []string{fmt.Sprintf("rec%d", g.id), "[4]" + pick(g, scalars)} {
				if v, w := g.variable(whole, false), g.variable(whole, false); v != w {
					return fmt.Sprintf("(%s %s %s)", v, pick(g, []string{"==", "!="}), w)
				}
			}
		case 3:
			f := g.value(pick(g, scalars[:2]), deep-1)
			return fmt.Sprintf(pick(g, []string{"math.IsNaN(float64(%s))", "math.IsInf(float64(%s), 1)", "math.IsInf(float64(%s), 0)"}), f)
		case 0:
			return fmt.Sprintf("(%s %s %s)", left(), pick(g, []string{"&&", "||"}), left())
		case 1:
			return "!" + g.value(t, deep-1)
		}
		u := pick(g, scalars[:2])
		if g.IntN(2) == 0 {
			u = pick(g, integers)
		}
		return fmt.Sprintf("(%s %s %s)", g.value(u, deep-1), pick(g, []string{"<", "<=", "==", "!=", ">", ">="}), g.value(u, deep-1))
	case isFloat(t):
		switch g.IntN(10) {
		case 8:
			return fmt.Sprintf(pick(g, []string{"(-%s)", "(-%s)", "(%s * -1)"}), left())
		case 9:
			return fmt.Sprintf("%s(1 / %s(%s(%s)))", t, t, pick(g, integers[:5]), g.value(pick(g, scalars[:2]), deep-1))
		case 4:
			if g.IntN(2) == 0 || g.single {
				name, second := pick(g, []string{"Max", "Min", "Copysign"}), t
				if name == "Copysign" {
					second = "known"
				}
				return fmt.Sprintf("%s(math.%s(float64(%s), float64(%s(%s))))", t, name, left(), second, left())
			}
			return fmt.Sprintf("%s(math.FMA(float64(%s), float64(%s), float64(%s)))", t, left(), left(), right())
		case 0:
			return fmt.Sprintf("%s(%s)", t, g.value(pick(g, integers), deep-1))
		case 1:
			return fmt.Sprintf("%s(%s)", t, g.value(map[string]string{"float32": "Wide", "Wide": "float32"}[t], deep-1))
		case 2:
			return fmt.Sprintf("%s(math.%s(float64(%s)))", t, pick(g, []string{"Sqrt", "Floor", "Ceil", "Trunc", "Abs", "RoundToEven", "Round"}), g.value(t, deep-1))
		case 3:
			return fmt.Sprintf("%s(%s, %s)", pick(g, []string{"min", "max"}), left(), g.leaf(t))
		}
		return fmt.Sprintf("%s(%s %s %s)", t, left(), pick(g, []string{"+", "-", "*", "/"}), right())
	}
	switch g.IntN(14) {
	case 10:
		w := pick(g, []string{"8", "16", "32", "64"})
		switch g.IntN(4) {
		case 0:
			return fmt.Sprintf("%s(bits.RotateLeft%s(%s, int(%s)))", t, w, g.value("uint"+w, deep-1), g.value("int8", deep-1))
		case 1:
			if w != "8" {
				return fmt.Sprintf("%s(bits.ReverseBytes%s(%s))", t, w, g.value("uint"+w, deep-1))
			}
		case 2:
			return fmt.Sprintf("%s(%s(%s))", t, pick(g, []string{"bits.Reverse" + w, "bits.LeadingZeros" + w, "bits.TrailingZeros" + w, "bits.Len" + w, "bits.OnesCount" + w}), g.value("uint"+w, deep-1))
		}
		return fmt.Sprintf("%s(math.Float32frombits(uint32(%s)))", t, g.value("uint32", deep-1))
	case 11:
		return fmt.Sprintf("%s(1 %s (%s & 31))", t, pick(g, []string{"<<", ">>"}), g.value(pick(g, integers[5:]), deep-1))
	case 0:
		return fmt.Sprintf("%s(%s)", t, g.value(pick(g, integers), deep-1))
	case 1:
		return fmt.Sprintf("%s(%s)", t, g.value(pick(g, scalars[:2]), deep-1))
	case 2:
		return fmt.Sprintf("(%s %s (%s | 1))", left(), pick(g, []string{"/", "%"}), g.value(t, deep-1))
	case 3, 4:
		return fmt.Sprintf("(%s %s %s)", left(), pick(g, []string{"<<", ">>"}), g.value(pick(g, integers[5:]), deep-1))
	case 5:
		return fmt.Sprintf("(%s %s %d)", left(), pick(g, []string{"<<", ">>"}), g.IntN(70))
	case 6:
		return fmt.Sprintf("(%s %s (%s & 63))", left(), pick(g, []string{"<<", ">>"}), g.value(pick(g, integers[:5]), deep-1))
	case 7:
		return fmt.Sprintf("(%s%s)", pick(g, []string{"-", "^", "+"}), left())
	case 8:
		return fmt.Sprintf("%s(%s, %s)", pick(g, []string{"min", "max"}), left(), g.leaf(t))
	case 9:
		return fmt.Sprintf("%s(bits.%s(%s))", t, pick(g, []string{"OnesCount64", "LeadingZeros64", "TrailingZeros64", "Len64", "Reverse64"}), g.value("uint64", deep-1))
	}
	return fmt.Sprintf("(%s %s %s)", left(), pick(g, []string{"+", "-", "*", "&", "|", "^", "&^"}), right())
}

func (g *generator) call(h help, deep int) string {
	var args []string
	for i, p := range h.params {
		if i == 0 && h.pointer {
			args = append(args, "&"+g.variable("int32", true))
			continue
		}
		args = append(args, g.value(p, deep))
	}
	return h.name + "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) block(n, deep int) {
	g.depth++
	g.scopes = append(g.scopes, map[string]string{})
	for range n {
		g.statement(deep)
	}
	g.scopes = g.scopes[:len(g.scopes)-1]
	g.depth--
}

func (g *generator) declare(name, t string) { g.scopes[len(g.scopes)-1][name] = t }

func (g *generator) statement(deep int) {
	t := pick(g, scalars)
	if g.inside && g.IntN(12) == 0 && !g.keeps {
		switch g.IntN(4) {
		case 0:
			g.line("p.L[%s] %s= %s", pick(g, []string{"i&7", "l%8", "2", "(u&7)"}), pick(g, []string{"+", "*", "^"}), g.value("int64", 2))
		case 1:
			g.line("p.N += %s", g.value("int32", 2))
		case 2:
			g.line("p.F = %s", g.value("float32", 2))
		default:
			g.line("p.G = %s", g.value("Wide", 2))
		}
		return
	}
	if g.inside && g.IntN(8) == 0 {
		g.element()
		return
	}
	if g.inside && g.IntN(6) == 0 {
		g.indexing()
		return
	}
	if g.IntN(9) == 0 {
		g.unusual(deep)
		return
	}
	if g.IntN(14) == 0 {
		g.part(deep)
		return
	}
	kind := g.IntN(21)
	if deep <= 0 && kind >= 8 && kind < 13 {
		kind -= 8
	}
	switch kind {
	case 16:
		if v := g.variable(fmt.Sprintf("rec%d", g.id), true); v != "" {
			switch g.IntN(3) {
			case 0:
				g.line("%s.in.f = %s", v, g.value("float32", 2))
			case 1:
				g.line("%s.a %s= %s", v, pick(g, []string{"+", "*", "^"}), g.value("int16", 2))
			default:
				g.line("%s.list[%s&1] = %s", v, g.leafInteger(), g.value("uint32", 2))
			}
		}
	case 17:
		t = pick(g, integers)
		if v := g.variable("[4]"+t, true); v != "" {
			switch g.IntN(3) {
			case 0:
				g.line("%s[%s&3]%s", v, g.leafInteger(), pick(g, []string{"++", "--"}))
			case 1:
				g.line("%s[%s&3] %s= %s", v, g.leafInteger(), pick(g, []string{"<<", ">>"}), g.value(pick(g, integers[5:]), 2))
			default:
				g.line("%s[%s&3] %s= %s", v, g.leafInteger(), pick(g, []string{"+", "-", "*", "&", "|", "^", "&^"}), g.value(t, 2))
			}
		}
	case 18:
		for _, h := range g.helps {
			if strings.HasPrefix(h.name, "m") && g.calls {
				v, w := g.name(), g.name()
				g.line("%s, %s := %s(%s, %s)", v, w, h.name, g.value("uint64", 2), g.value("uint64", 2))
				g.line("_, _ = %s, %s", v, w)
				g.declare(v, "uint64")
				g.declare(w, "bool")
				return
			}
		}
		v, w := g.name(), g.name()
		g.line("%s, %s := %s", v, w, fmt.Sprintf(pick(g, []string{"bits.Mul64(%s, %s)", "bits.Add64(%s, %s, uint64(u&1))", "bits.Sub64(%s, %s, uint64(u&1))"}), g.value("uint64", 2), g.value("uint64", 2)))
		g.line("_, _ = %s, %s", v, w)
		g.declare(v, "uint64")
		g.declare(w, "uint64")
	case 19:
		if deep > 0 {
			g.line("switch {")
			for range 1 + g.IntN(2) {
				g.line("case %s:", g.value("bool", 2))
				g.block(1, deep-1)
			}
			g.line("default:")
			g.block(1, deep-1)
			g.line("}")
		}
	case 20:
		if v := g.variable("[4]"+t, true); v != "" { // Go copies the array before it goes through it
			name := g.name()
			g.frozen[name] = true
			g.line("for %s, e := range %s {", name, v)
			g.line("\t%s[3-%s] = e", v, name)
			g.line("}")
		}
	case 0, 1:
		value, name := g.value(t, 3), g.name()
		g.line("%s := %s", name, value)
		g.line("_ = %s", name)
		g.declare(name, t)
	case 2:
		name := g.name()
		g.line("var %s [4]%s", name, t)
		g.line("%s[%s&3] = %s", name, g.leafInteger(), g.value(t, 2))
		g.declare(name, "[4]"+t)
	case 3:
		name := g.name()
		g.line("%s := rec%d{a: %s, in: inner%d{%s}}", name, g.id, g.value("int16", 2), g.id, g.value("float32", 2))
		g.line("%s.list[%s&1] += %s", name, g.leafInteger(), g.value("uint32", 1))
		g.declare(name, fmt.Sprintf("rec%d", g.id))
	case 4:
		if v, w := g.variable(t, true), g.variable(t, true); v != "" && v != w {
			g.line("%s, %s = %s, %s", v, w, g.value(t, 2), g.value(t, 2))
		}
	case 5:
		if v := g.variable("[4]"+t, true); v != "" {
			if w := g.variable("[4]"+t, true); w != v {
				g.line("%s = %s", v, w)
			}
			g.line("%s[%s&3] = %s", v, g.leafInteger(), g.value(t, 2))
		}
	case 6:
		if v := g.variable("int32", true); v != "" {
			for _, h := range g.helps {
				if h.pointer && g.calls {
					g.line("%s = %s", v, g.call(h, 0))
				}
			}
		}
	case 7:
		t = pick(g, integers)
		if v := g.variable(t, true); v != "" {
			switch g.IntN(3) {
			case 0:
				g.line("%s%s", v, pick(g, []string{"++", "--"}))
			case 1:
				g.line("%s %s= %s", v, pick(g, []string{"<<", ">>"}), g.value(pick(g, integers[5:]), 2))
			default:
				g.line("%s %s= %s", v, pick(g, []string{"+", "-", "*", "&", "|", "^", "&^"}), g.value(t, 2))
			}
		}
	case 8, 9:
		g.line("if %s {", g.value("bool", 2))
		g.block(1+g.IntN(3), deep-1)
		if g.IntN(2) == 0 {
			g.line("} else {")
			g.block(1+g.IntN(2), deep-1)
		}
		g.line("}")
	case 10, 11:
		name := g.name()
		label := fmt.Sprintf("L%d", g.names)
		var head string
		elem := "int"
		switch g.IntN(3) {
		case 0:
			head = fmt.Sprintf("for %s := range %d {", name, 1+g.IntN(4))
		case 1:
			elem = pick(g, integers)
			head = fmt.Sprintf("for %s := %s(0); %s < %d; %s++ {", name, elem, name, 1+g.IntN(4), name)
		default:
			elem = t
			v := g.variable("[4]"+t, false)
			if v == "" {
				return
			}
			head = fmt.Sprintf("for _, %s := range %s {", name, v)
		}
		g.frozen[name] = true
		g.line("%s:", label)
		g.line("%s", head)
		g.scopes = append(g.scopes, map[string]string{name: elem})
		g.loops = append(g.loops, label)
		g.block(1+g.IntN(3), deep-1)
		g.line("\tif %s {", g.value("bool", 1))
		g.line("\t\t_ = %s", name)
		g.line("\t\t%s %s", pick(g, []string{"break", "continue"}), label) // the label is used
		g.line("\t}")
		g.loops = g.loops[:len(g.loops)-1]
		g.scopes = g.scopes[:len(g.scopes)-1]
		g.line("}")
	case 12:
		t = pick(g, integers[:4])
		g.line("switch %s {", g.value(t, 2))
		g.line("case 0, 1, %s:", g.leaf(t))
		g.block(1, deep-1)
		if g.IntN(2) == 0 {
			g.line("\tfallthrough")
		}
		g.line("case -1:")
		g.block(1, deep-1)
		if g.IntN(2) == 0 {
			g.line("\tbreak")
		}
		g.line("default:")
		g.block(1, deep-1)
		g.line("}")
	case 13:
		if len(g.loops) > 0 {
			g.line("if %s {", g.value("bool", 2))
			g.line("\t%s %s", pick(g, []string{"break", "continue"}), pick(g, g.loops))
			g.line("}")
		}
	default:
		if v := g.variable(t, true); v != "" {
			g.line("%s = %s", v, g.value(t, 3))
		}
	}
}

// unusual writes a statement that few kernels have: a range with =, a return, a wide switch, deep nesting, a long expression, a loop of many rounds, or one that only copies.
func (g *generator) unusual(deep int) {
	t := pick(g, integers)
	v := g.variable(t, true)
	if v == "" {
		v = g.name()
		g.line("%s := %s", v, g.value(t, 1))
		g.line("_ = %s", v)
		g.declare(v, t)
	}
	kind := g.IntN(9)
	if kind == 8 && !g.inside || kind >= 2 && kind < 6 && (deep < 2 || g.large == 0 || !g.inside) {
		kind = g.IntN(2)
	}
	switch kind {
	case 0:
		if g.leave != nil {
			g.line("if %s {", g.value("bool", 2))
			g.depth++
			g.leave()
			g.depth--
			g.line("}")
		}
	case 2:
		g.large--
		g.line("switch %s & 127 {", g.value(t, 1))
		for k := range 80 + g.IntN(48) {
			g.line("case %d:", k)
			g.line("\t%s = %s*3 + %d", v, v, k%100)
			if g.IntN(8) == 0 {
				g.line("\tfallthrough")
			}
		}
		g.line("default:")
		g.line("\t%s--", v)
		g.line("}")
	case 3:
		g.large--
		n := 20 + g.IntN(40)
		for k := range n {
			g.line("if %s || u&1023 != %d {", g.value("bool", 1), k*7)
			g.line("%s++", v)
		}
		g.block(1, 0)
		for range n {
			if g.IntN(3) == 0 {
				g.line("} else {")
				g.line("%s ^= 5", v)
			}
			g.line("}")
		}
	case 4:
		g.large--
		sum := g.leaf(t)
		for range 20 + g.IntN(80) {
			sum += pick(g, []string{" + ", " - ", " ^ ", " | ", " * ", " &^ "}) + g.leaf(t)
		}
		g.line("%s = %s", v, sum)
	case 8:
		v, w, k := g.name(), g.name(), g.name() // what all threads begin with, so that compilers may take it for the same in all
		g.line("%s, %s := %s(%d), %s(%d)", v, w, t, g.IntN(9), t, g.IntN(9))
		g.line("for %s := range int(u>>%d) & 7 {", k, g.IntN(8))
		g.line("\t%s", fmt.Sprintf(pick(g, []string{"%s, %s = %[2]s, %[1]s", "%[2]s, %[1]s = %[1]s, %[3]s(%[4]s)", "%[1]s = %[3]s(%[4]s)"}), v, w, t, k))
		g.line("\t_ = %s", k)
		g.line("}")
		g.line("_, _ = %s, %s", v, w)
		g.declare(v, t)
		g.declare(w, t)
	case 5:
		n := 1 + g.IntN(2000)
		if g.IntN(8) == 0 {
			n *= 10
		}
		if len(g.loops) > 0 || n > g.rounds {
			return
		}
		g.rounds -= n
		k, outer := g.name(), g.IntN(2)*(1+g.IntN(1+n/8))
		if outer > 0 {
			g.line("for range %d {", outer)
			n = max(1, n/outer)
		}
		g.line("for %s := range %d {", k, n)
		g.line("\t%s = %s*5 + %s(%s)", v, v, t, k)
		g.line("\tif %s&31 == 7 {", v)
		g.line("\t\t%s", pick(g, []string{"continue", v + " ^= 9", "break"}))
		g.line("\t}")
		if outer > 0 {
			g.line("}")
		}
		g.line("}")
	default:
		g.assigning(deep)
	}
}

// assigning writes a range that assigns to what was declared before.
func (g *generator) assigning(deep int) {
	t, k := pick(g, scalars), g.variable("int", true)
	if k == "" {
		k = g.name()
		g.line("%s := %s", k, g.value("int", 1))
		g.line("_ = %s", k)
		g.declare(k, "int")
	}
	from, to, v := g.variable("[4]"+t, true), g.variable("[4]"+t, true), g.variable(t, true)
	switch {
	case from == "":
		if a := g.variable("[4]int", true); a != "" && g.IntN(2) == 0 {
			k = a + "[" + g.leafInteger() + "&3]"
		}
		g.line("for %s = range %s {", k, pick(g, []string{"4", "3", "int(u)&3"}))
	case v == "" || g.IntN(2) == 0:
		g.line("for %s, %s[%s&3] = range %s%s {", k, to, k, pick(g, []string{"", "&"}), from)
	default:
		g.line("for %s, %s = range %s%s {", k, v, pick(g, []string{"", "&"}), from)
	}
	g.block(1+g.IntN(2), deep-1)
	g.line("}")
}

// part writes statements that use a part of an array, or that copy or clear one.
func (g *generator) part(deep int) {
	t := pick(g, scalars[3:])
	if g.IntN(3) == 0 {
		t = pick(g, scalars[:2])
	}
	v, w := g.variable("[4]"+t, true), g.variable("[4]"+t, false)
	if v == "" {
		v = g.name()
		g.line("%s := [4]%s{2: %s}", v, t, g.value(t, 2))
		g.line("_ = %s", v)
		g.declare(v, "[4]"+t)
		w = v
	}
	low, high := fmt.Sprintf("int(%s&1)", g.leafInteger()), fmt.Sprintf("3+%s&1", g.leafInteger())
	part := v + strings.NewReplacer("LOW", low, "HIGH", high).Replace(pick(g, []string{"[LOW:HIGH]", "[LOW:HIGH:4]", "[:][LOW:HIGH]", "[LOW:][:2]", "[:HIGH]", "[1:]", "[:]"}))
	switch g.IntN(6) {
	case 0:
		g.line("copy(%s, %s[%s:])", part, w, low)
	case 1:
		n := g.name()
		g.line("%s := copy(%s[%s:], %s)", n, w, low, part)
		g.line("_ = %s", n)
		g.declare(n, "int")
	case 2:
		g.line("clear(%s)", part)
	case 3:
		if g.calls {
			g.line("%s[%s] = changeOf(%s, %s)", w, low, part, g.value(t, 1))
		}
	default:
		if g.calls {
			r := g.name()
			g.line("%s := totalOf(%s, %s)", r, part, g.value(t, 1))
			g.line("_ = %s", r)
			g.declare(r, t)
		}
		g.line("{")
		g.depth++
		p, k, e := g.name(), g.name(), g.name()
		g.line("%s := %s", p, part)
		g.line("for %s, %s := range %s {", k, e, pick(g, []string{p, p + "[1:]", p + "[" + low + ":2]"}))
		g.line("\t%s[int(%s+1)%%len(%s)] = %s", p, k, p, pick(g, []string{e, e + " + " + e, g.value(t, 1)}))
		g.line("\t_, _ = %s, %s", k, e)
		g.line("}")
		if g.IntN(2) == 0 {
			g.block(1, deep-1)
		}
		g.line("%s[len(%s)-1] %s= %s", p, p, pick(g, []string{"+", "-"}), g.value(t, 2))
		g.depth--
		g.line("}")
	}
}

// element writes a statement that changes or copies an element of the kernel's buffer of structures.
func (g *generator) element() {
	at := "e[i]"
	if v := g.variable("Elem", true); v != "" && g.IntN(3) == 0 {
		at = v
	}
	switch g.IntN(9) {
	case 0:
		g.line("%s.A %s= %s", at, pick(g, []string{"+", "*", "^"}), g.value("int16", 2))
	case 1:
		g.line("%s.In.F = %s", at, g.value("float32", 2))
	case 2:
		g.line("%s.List[%s&1] %s= %s", at, g.leafInteger(), pick(g, []string{"+", "-", "|"}), g.value("uint32", 2))
	case 3:
		g.line("%s.On = %s", at, g.value("bool", 2))
	case 4:
		g.line("%s.G, %s.A = %s, %s", at, at, g.value("Wide", 1), g.value("int16", 1))
	case 5, 6:
		name := g.name()
		g.line("%s := e[i]", name)
		g.line("_ = %s", name)
		g.declare(name, "Elem")
	case 7:
		g.line("%s = Elem{A: %s, G: %s, List: [2]uint32{1: %s}}", at, g.value("int16", 2), g.value("Wide", 1), g.value("uint32", 1))
	default:
		if v := g.variable("Elem", true); v != "" {
			g.line("if e[i] %s %s {", pick(g, []string{"==", "!="}), v)
			g.line("\te[i], %s = %s, e[i]", v, v)
			g.line("}")
		}
	}
}

// indexing reads an element at an index that is computed in a way of its own: from numbers that wrap around, from negative ones that are folded back, by
// loops over places and lengths, or with the parameter a, which may need 64 bits.
func (g *generator) indexing() {
	name, any, c := g.name(), g.value("int", 2), 1+g.IntN(1<<g.IntN(20))
	kind := g.IntN(18)
	if len(g.loops) > 0 && kind > 13 { // it has a loop of many rounds
		kind -= 4
	}
	value := "u"
	switch kind {
	case 0:
		value = fmt.Sprintf("many[%s&15]", any)
	case 1:
		value = fmt.Sprintf("many[(i*%d+%s)&7]", c, any)
	case 2:
		value = fmt.Sprintf("x[fold(%s, len(x))]", any)
	case 3:
		value = fmt.Sprintf("x[uint(%s)%%uint(len(x))]", any)
	case 4:
		value = fmt.Sprintf("x[min(max(i-%d, 0)+l, len(x)-1)]", c)
	case 5:
		value = fmt.Sprintf(pick(g, []string{"many[(%s>>33)&7]", "many[(i<<34|%s)&15]", "many[(%s<<3>>40)&7]", "many[(%s>>2)&15]", "many[-%s&7]", "many[^%s&7]"}), any)
	case 6:
		value = fmt.Sprintf("many[wrapped(i%%3, i/3%%%d, 5)]", 1+g.IntN(5))
	case 7:
		value = fmt.Sprintf("get(x, %s)", pick(g, []string{any, "i-9", "l*i", "int(a)+i"}))
	case 8:
		value = fmt.Sprintf("b32(%s)", pick(g, []string{"i < int(a)", "int64(l) >= a", "i+l > int(a)-3", "int(a)/(i+1) > l", "i%(int(a)|1) == 3", "float32(int(a)+i) > w"}))
	case 9:
		value = fmt.Sprintf("many[(%s%%16+16)%%16]", any)
	}
	g.line("%s := %s", name, value)
	g.line("_ = %s", name)
	g.frozen[name] = true
	switch kind {
	case 10:
		g.line("if at := i - %d; at < 0 {", c)
		g.line("\t%s = many[-at&15]", name)
		g.line("} else if at+l < len(x) {")
		g.line("\t%s -= x[at+l]", name)
		g.line("}")
	case 11:
		at := g.name()
		g.line("%s := %s", at, any)
		g.line("%s = %s*%d + l", at, at, c)
		g.line("if %s {", g.value("bool", 1))
		g.line("\t%s -= 1 << 31", at)
		g.line("}")
		g.line("%s = many[%s&15]", name, at)
	case 12:
		g.line("for k := 0; k*k < i+3 && k < 20; k++ {")
		g.line("\t%s ^= many[k*i*%d&15]", name, c)
		g.line("}")
	case 13:
		g.line("for k := int64(3); k < a && k < 9; k += 2 {")
		g.line("\t%s += many[k]", name)
		g.line("}")
	case 14:
		g.line("for k := l; k < len(x); k += t.Size(0) * t.Blocks(0) {")
		g.line("\t%s += x[k] * uint32(k)", name)
		g.line("}")
	case 15:
		g.line("for k := len(x) - 1; k > i; k -= 1 + l {")
		g.line("\t%s ^= x[k] >> (k & 7)", name)
		g.line("}")
	case 16:
		g.line("for k := len(f) / 2; k >= 1; k /= 2 {")
		g.line("\t%s += uint32(k)*x[k] + b32(f[k] > w)", name)
		g.line("}")
	case 17:
		g.line("for k := range min(len(x), i) {")
		g.line("\t%s = %s*3 + x[len(x)-1-k]", name, name)
		g.line("}")
	}
	delete(g.frozen, name)
	g.declare(name, "uint32")
}

// sum adds all variables of the outermost scope to a sum.
func (g *generator) sum(into string) {
	for n := 1; n <= g.names; n++ {
		v := fmt.Sprintf("v%d", n)
		t := g.scopes[len(g.scopes)-1][v]
		all := []string{v}
		if strings.HasPrefix(t, "[4]") {
			all, t = []string{v + "[0]", v + "[1]", v + "[2]", v + "[3]"}, t[3:]
		}
		if t == "Elem" {
			all, t = []string{v + ".sum()"}, "uint64"
		}
		if strings.HasPrefix(t, "rec") {
			all, t = []string{v + ".list[0] + uint32(" + v + ".a)"}, "uint32"
		}
		for _, x := range all {
			switch {
			case t == "":
			case t == "bool":
				g.line("%s = %s*31 + b(%s)", into, into, x)
			case t == "float32":
				g.line("%s = %s*31 + f32(%s)", into, into, x)
			case t == "Wide":
				g.line("%s = %s*31 + wide(%s)", into, into, x)
			default:
				g.line("%s = %s*31 + uint64(%s)", into, into, x)
			}
		}
	}
}

// kernel writes kernel number id, with the functions that it calls.
func (g *generator) kernel(id int, shape shape) {
	g.id, g.helps, g.names, g.frozen = id, nil, 0, map[string]bool{}
	g.line("type inner%d struct{ f float32 }", id)
	if g.IntN(3) == 0 {
		g.line("func g%d[T int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint](p, q T) T {", id)
		g.line("\tif p < q {")
		g.line("\t\treturn q %s p", pick(g, []string{"-", "*", "^"}))
		g.line("\t}")
		g.line("\treturn %s", pick(g, []string{"p<<3 + q", "p / (q | 1)", "-p >> 2", "^q % (p | 1)", "p << (q & 7)"}))
		g.line("}")
		g.helps = append(g.helps, help{name: fmt.Sprintf("g%d", id), generic: true})
	}
	if g.IntN(3) == 0 {
		g.line("func m%d(p, q uint64) (uint64, bool) {", id)
		g.line("\treturn p %s q, p %s q", pick(g, []string{"+", "-", "*", "&^", "<<", ">>"}), pick(g, []string{"<", "==", ">="}))
		g.line("}")
		g.helps = append(g.helps, help{name: fmt.Sprintf("m%d", id)})
	}
	if g.IntN(2) == 0 {
		t := pick(g, scalars[:2])
		g.line("func e%d(p, q %s) %s {", id, t, t)
		g.line("\tif p %s q {", pick(g, []string{"<", ">"}))
		g.line("\t\treturn %s", pick(g, []string{"q", "-p", "p * 0.5"}))
		g.line("\t}")
		g.line("\treturn %s", pick(g, []string{"p", "p - q", "-q"}))
		g.line("}")
		g.helps = append(g.helps, help{name: fmt.Sprintf("e%d", id), params: []string{t, t}, result: t})
	}
	g.line("type rec%d struct {\n\ta int16\n\tin inner%d\n\tlist [2]uint32\n}", id, id)
	for i := range g.IntN(3) {
		h := help{name: fmt.Sprintf("h%d_%d", id, i), result: pick(g, scalars), pointer: g.IntN(2) == 0}
		params := []string{"u uint32", "w float32"}
		h.params = []string{"uint32", "float32"}
		if h.pointer {
			h.params, h.result = append([]string{"*int32"}, h.params...), "int32"
			params = append([]string{"p *int32"}, params...)
		}
		g.line("func %s(%s) (r %s) {", h.name, strings.Join(params, ", "), h.result)
		g.scopes = []map[string]string{{}}
		g.depth = 1
		g.leave = func() { g.line("return %s", g.value(h.result, 1)) }
		if h.pointer {
			g.line("*p = *p*3 + int32(u)")
		}
		g.block(2, 1)
		if g.IntN(2) == 0 {
			g.line("if %s {", g.value("bool", 1))
			g.line("\treturn %s", g.value(h.result, 1))
			g.line("}")
		}
		g.line("r = %s", g.value(h.result, 2))
		g.line("return")
		g.depth, g.leave = 0, nil
		g.line("}")
		g.helps = append(g.helps, h)
	}
	g.names = 0
	g.body(shape)
}

// waiting writes functions with barriers, whose variables have the names of the kernel's.
func (g *generator) waiting(t string, threads int) {
	g.line("func w%d(t grid.Thread, all *[%d]%s, l, n int, u %[3]s) (sum %[3]s) {", g.id, threads, t)
	g.line("\tin := all[l]")
	g.line("\tt.Barrier()")
	g.line("\tall[l] = u")
	if t != "bool" && g.IntN(2) == 0 && g.room(t, sizeOf(t)) {
		g.line("\tu = grid.%s(t, u)", pick(g, []string{"BlockMax", "BlockScan", "GroupExclusiveScan", "GroupSum"}))
	}
	if g.IntN(2) == 0 {
		g.line("\tfor i := %d; i > 0; i /= 2 {", g.IntN(5))
		g.line("\t\tt.Barrier()")
		g.line("\t\tw := all[(l+i)%%%d]", threads)
		g.line("\t\tt.Barrier()")
		g.line("\t\tall[l] %s= w", pick(g, []string{"+", "-", "*"}))
		g.line("\t}")
	}
	g.line("\tt.Barrier()")
	g.line("\tsum, u = all[(l+n)%%%d], u+in", threads)
	g.line("\tt.Barrier()")
	g.line("\tall[l] = in")
	g.line("\treturn %s", pick(g, []string{"sum", "-sum", "sum - u", "u * 3"}))
	g.line("}")
	g.line("func x%d(t grid.Thread, s *[%d]%s, i int, e *%[3]s) {", g.id, threads, t)
	g.line("\tfor l := range %d {", 1+g.IntN(3))
	g.line("\t\tx := w%d(t, s, i, l+%d, *e)", g.id, g.IntN(4))
	g.line("\t\t*e %s= x", pick(g, []string{"+", "-", ""}))
	g.line("\t}")
	g.line("}")
}

// waited writes calls of these functions.
func (g *generator) waited(t string) {
	name := g.name()
	g.line("%s := w%d(t, s, l, %d, %s)", name, g.id, g.IntN(9), g.value(t, 2))
	g.declare(name, t)
	g.line("t.Barrier()")
	if g.IntN(2) == 0 {
		g.line("x%d(t, s, l, &%s)", g.id, name)
		g.line("t.Barrier()")
	}
}

// combined writes operations of the block and of groups, some of them in an if or a loop that all threads of a block run alike.
func (g *generator) combined(threads int) {
	ends := 0
	switch g.IntN(4) {
	case 0:
		g.line("for q := range %d {", 1+g.IntN(3))
		g.line("\t_ = q")
		ends++
	case 1:
		g.line("if %s {", pick(g, []string{"p.N&1 == 0", "t.Block(0)&1 == 0"}))
		ends++
	}
	g.scopes = append(g.scopes, map[string]string{})
	for range 1 + g.IntN(3) {
		switch g.IntN(12) {
		case 0:
			name := g.name()
			g.line("%s := grid.GroupLane(t) + %d", name, g.IntN(9))
			g.declare(name, "int")
			continue
		case 1:
			g.wide(threads)
			continue
		case 2, 3:
			if g.tile != "" {
				g.tiled()
				continue
			}
		case 4:
			if g.sized != "" {
				g.measured()
				continue
			}
		}
		name, op, result := g.operation(threads)
		g.declare(name, result)
		if op == "BlockAny" && g.IntN(2) == 0 { // all threads have the result
			g.line("if %s {", name)
			g.line("\tt.Barrier()")
			g.line("\tall := grid.BlockSum(t, u)")
			g.line("\tsum += uint64(all)")
			g.line("}")
		}
	}
	g.sum("sum")
	g.scopes = g.scopes[:len(g.scopes)-1]
	for range ends {
		g.line("}")
	}
}

// operation writes an operation on numbers or bools, and returns the variable that has its result.
func (g *generator) operation(threads int) (name, op, result string) {
	of, t, more := pick(g, []string{"Block", "Group"}), pick(g, scalars[:2]), ""
	op = pick(g, []string{"Sum", "Min", "Max", "Scan", "ExclusiveScan", "Sum", "And", "Or", "Reduce", "Any", "All", "Count", "Move", "Move"})
	if g.IntN(3) == 0 || op == "And" || op == "Or" {
		t = pick(g, integers)
	}
	result = t
	switch op {
	case "Any", "All":
		t, result = "bool", "bool"
	case "Count":
		t, result = "bool", "int"
		if of == "Group" && g.IntN(2) == 0 {
			op, result = "Ballot", "uint32"
		}
	case "Reduce":
		more = fmt.Sprintf(", h%d_with[%s]", g.id, t)
	case "Move":
		if t = pick(g, scalars); t == "bool" && g.IntN(3) > 0 {
			t = "float32"
		}
		result = t
		op, more = g.move(of, threads)
	}
	if elem := map[string]string{"Count": "int32", "Ballot": "uint32"}[op]; !g.room(cmp.Or(elem, t), sizeOf(cmp.Or(elem, t))) {
		op, t, result, more = "Any", "bool", "bool", ""
	}
	name = g.name()
	g.line("%s := grid.%s%s(t, %s%s)", name, of, op, g.value(t, 2), more)
	return name, of + op, result
}

// move returns an operation that gives a thread the value of another, and what the operation takes behind the value.
func (g *generator) move(of string, threads int) (op, more string) {
	if of == "Group" {
		return pick(g, []string{"Shuffle", "ShuffleXor"}), pick(g, []string{", 0", ", 5", ", 16", ", int(u&63)", ", l", ", 31", ", -1 - l"})
	}
	return "Broadcast", ", " + pick(g, []string{"0", fmt.Sprint(threads - 1), fmt.Sprintf("int(uint32(p.N)%%%d)", threads),
		fmt.Sprintf("(l+%d)%%%d", g.IntN(9), threads)})
}

// room reports whether the kernel may combine values of a type of so many bytes. Drivers have 32 KiB of shared memory, of which each type takes that of
// 1024 values.
func (g *generator) room(t string, size int) bool {
	if !g.types[t] && g.free < size<<10 {
		return false
	}
	if !g.types[t] {
		g.types[t], g.free = true, g.free-size<<10
	}
	return true
}

// sizeOf returns the bytes of a number or bool.
func sizeOf(t string) int {
	for suffix, n := range map[string]int{"8": 1, "16": 2, "32": 4, "bool": 1} {
		if strings.HasSuffix(t, suffix) {
			return n
		}
	}
	return 8
}

// wide writes an operation on complex numbers, numbers of 16 bits, structures or arrays.
func (g *generator) wide(threads int) {
	name, of := g.name(), pick(g, []string{"Block", "Group"})
	op, more := g.move(of, threads)
	switch g.IntN(5) {
	case 0, 1:
		t := pick(g, scalars[:2])
		if !g.room("complex"+t, 2*sizeOf(t)) {
			return
		}
		g.line("%s := grid.%s%s(t, complex(%s, %s))", name, of, pick(g, []string{"Sum", "Scan", "ExclusiveScan"}), g.value(t, 1), g.value(t, 1))
		bits := map[string]string{"float32": "f32", "Wide": "wide"}[t]
		g.line("sum = sum*31 + %s(real(%s)) + %s(imag(%s))*7", bits, name, bits, name)
	case 2:
		h, number := pick(g, []string{"Float16", "BFloat16"}), g.name()
		if !g.room(h, 2) {
			return
		}
		if g.IntN(2) == 0 {
			op, more = "Reduce", fmt.Sprintf(", h%d_%s", g.id, h)
		}
		g.line("%s := grid.%s%s(t, To%s(%s)%s)", name, of, op, h, g.value("float32", 1), more)
		g.line("%s := %s.Float32()", number, name)
		g.line("_ = %s", number)
		g.declare(number, "float32")
	case 3:
		t := fmt.Sprintf("rec%d", g.id)
		v := g.variable(t, false)
		if !g.room(t, 16) {
			return
		}
		if v == "" {
			v = fmt.Sprintf("%s{a: %s, in: inner%d{%s}}", t, g.value("int16", 1), g.id, g.value("float32", 1))
		}
		if g.IntN(2) == 0 {
			op, more = "Reduce", fmt.Sprintf(", h%d_less", g.id)
		}
		g.line("%s := grid.%s%s(t, %s%s)", name, of, op, v, more)
		g.declare(name, t)
	default:
		t := "[4]" + pick(g, scalars)
		if !g.room(t, 4*sizeOf(t)) {
			return
		}
		v := g.variable(t, false)
		if v == "" {
			v = fmt.Sprintf("%s{%s, 2: %s}", t, g.value(t[3:], 1), g.value(t[3:], 1))
		}
		g.line("%s := grid.%s%s(t, %s%s)", name, of, op, v, more)
		g.declare(name, t)
	}
}

// withs writes the functions that combine two values.
func (g *generator) withs() {
	g.line("func h%d_with[T float32 | float64 | int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint](a, b T) T {", g.id)
	g.line("\treturn T(a*3) - b")
	g.line("}")
	for _, h := range []string{"Float16", "BFloat16"} {
		g.line("func h%d_%s(a, b %[2]s) %[2]s {", g.id, h)
		g.line("\treturn To%s(a.Float32() - b.Float32())", h)
		g.line("}")
	}
	g.line("func h%d_less(a, b rec%[1]d) rec%[1]d {", g.id)
	g.line("\tif b.in.f < a.in.f {")
	g.line("\t\ta, b = b, a")
	g.line("\t}")
	g.line("\ta.list[1] = a.list[1]*3 + b.list[0] + uint32(b.a)")
	g.line("\treturn a")
	g.line("}")
}

// memory declares a tile of matrix m, with its halo, and memory of a launch's length, of which a kernel has one.
func (g *generator) memory(dims int) {
	length := pick(g, []string{"max(int(a)%19, 0) + 2", "min(len(x), 20)", "min(len(f)*2, 33) + 1", "max(len(x)%7, 1) * 2", "3"})
	sliced := g.tile != "" && g.IntN(2) == 0
	switch {
	case sliced:
		g.line("tile := grid.SharedSlice[%s](t, %s)", g.tile, length)
		g.sized = ""
	case g.tile != "":
		g.line("tile := grid.Shared[[%d]%s](t)", 1+g.IntN(24), g.tile)
	}
	if g.sized != "" {
		g.line("own := grid.SharedSlice[%s](t, %s)", g.sized, length)
		g.line("_ = own")
	}
	if g.tile != "" {
		g.line("const halo = %d", g.IntN(3))
		block := []string{"t.Block(0)", "(t.Block(1)*t.Blocks(0) + t.Block(0))", "((t.Block(2)*t.Blocks(1)+t.Block(1))*t.Blocks(0) + t.Block(0))"}[dims-1]
		g.line("first := %s * max(len(tile)-2*halo, 0)", block)
		g.line("_, _ = halo, first")
	}
}

// tiled writes loads of the kernel's tile from m, and stores into o, where a block has rows of its own.
func (g *generator) tiled() {
	at := func() string {
		return pick(g, []string{"0", "-1", "3", "t.Block(0)*8 - halo", "first/2 - 2", "int(p.N&31) - 9", "m.Cols() - 4", "m.Rows() + 1", "first - halo", "-50", "77", "len(x)%9"})
	}
	edge := pick(g, []string{"Zero", "Clamp", "Wrap"})
	g.line("grid.LoadTile(t, tile[:], m, %s, %s, grid.Edge%s)", at(), at(), edge)
	r, c := pick(g, []string{"l%len(tile)", "int(u)%len(tile)", "(l+1)%len(tile)"}), pick(g, []string{"l%len(tile[0])", "l/3%len(tile[0])", "int(u>>1)%len(tile[0])"})
	name := g.name()
	g.line("%s := tile[%s][%s]", name, r, c)
	g.declare(name, "float32")
	if g.IntN(2) == 0 {
		g.line("t.Barrier()")
		g.line("if l < len(tile)*len(tile[0]) {")
		g.line("\ttile[l/len(tile[0])][l%%len(tile[0])] %s= %s", pick(g, []string{"", "+", "-"}), g.value("float32", 1))
		g.line("}")
	}
	if g.IntN(3) > 0 {
		g.line("grid.StoreTile(t, tile[:], o, first-halo, %s, halo)", pick(g, []string{"0", "-halo", "2", "-3", "t.Block(0) - 1", "o.Cols() - 2"}))
		g.line("if row := first + l%%len(tile); row < o.Rows() && row < first+len(tile)-2*halo {")
		g.line("\tsum = sum*31 + f32(o.At(row, l%%o.Cols()))")
		g.line("}")
	}
}

// measured writes uses of the memory that has a launch's length.
func (g *generator) measured() {
	name := g.name()
	g.line("t.Barrier()")
	g.line("if l < len(own) {")
	g.line("\town[l] %s= %s", pick(g, []string{"", "+", "-"}), g.value(g.sized, 2))
	g.line("}")
	if g.IntN(2) == 0 {
		low, high := g.name(), g.name()
		g.line("%s, %s := own[:(len(own)+1)/2], own[len(own)/2:]", low, high)
		g.line("t.Barrier()")
		g.line("%s := %s[l%%len(%[2]s)] + %[3]s[len(%[3]s)-1-l%%len(%[3]s)]", name, low, high)
	} else {
		g.line("t.Barrier()")
		g.line("%s := own[%s%%len(own)]", name, pick(g, []string{"l", "(l*5 + 2)", "int(u)"}))
	}
	g.declare(name, g.sized)
}

// alike writes barriers in ifs and loops that all threads of a block run alike.
func (g *generator) alike(own, t string, threads int) {
	name := g.name()
	g.line("%s := s[(l+%d)%%%d]", name, g.IntN(threads), threads)
	g.declare(name, t)
	loops := g.IntN(2) == 0
	if loops {
		g.line("for q := range %s {", pick(g, []string{"3", "1 + t.Block(0)%2", "bits.Len32(uint32(p.N) & 3)"}))
	}
	for range 1 + g.IntN(2) {
		g.line("if %s {", pick(g, []string{"p.N&1 == 0", "t.Block(0) > 0", "a&3 > 1 && t.Size(0) > 1", "len(x) > 20 || bits.OnesCount64(uint64(p.L[0])) > 3"}))
		g.line("\tt.Barrier()")
		g.line("\t%s = %s", own, g.value(t, 1))
		g.line("\tt.Barrier()")
		g.line("\t%s = s[(l+%d)%%%d]", name, g.IntN(threads), threads)
		if g.IntN(2) == 0 {
			g.line("} else {")
			g.line("\t%s = %s", name, g.value(t, 1))
		}
		g.line("}")
	}
	if loops {
		g.line("\tt.Barrier()")
		g.line("\tif int(u>>1)&3 == q {")
		g.line("\t\tcontinue")
		g.line("\t}")
		g.line("\tsum = sum*3 + uint64(q)")
		g.line("\t%s = %s", own, g.value(t, 1))
		g.line("}")
	}
	g.line("t.Barrier()")
}

// body writes the kernel itself.
func (g *generator) body(s shape) {
	together, shared := g.IntN(5) < 2 || *randomTogether, pick(g, integers)
	g.types, g.free = map[string]bool{"uint32": true, "bool": true}, 32<<10-5<<10-3<<10-s.group()*8 // of 32 KiB without those of the two types, a tile and s
	if together && g.IntN(3) == 0 {
		shared = pick(g, scalars[:2])
	}
	waits := together && g.IntN(2) == 0
	if waits {
		g.waiting(shared, s.group())
	}
	matrices := ""
	g.tile, g.sized = "", ""
	if together {
		g.withs()
		if g.IntN(2) == 0 {
			g.tile, matrices = fmt.Sprintf("[%d]float32", 1+g.IntN(24)), ", m, o grid.Matrix[float32]"
		}
		if g.IntN(2) == 0 {
			g.sized = pick(g, scalars[:len(scalars)-1])
		}
		if g.sized == "bool" || g.sized == "int" || g.sized == "uint" { // elements of buffers are neither
			g.sized = "int16"
		}
	}
	g.line("//halyard:kernel")
	g.line("func k%d(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem%s) {", g.id, matrices)
	ends := together || g.IntN(12) == 0
	g.keeps = ends
	g.scopes = []map[string]string{{}}
	g.depth = 1
	if together {
		g.line("s := grid.Shared[[%d]%s](t)", s.group(), shared)
		g.memory(s.dims)
	}
	switch s.dims {
	case 1:
		g.line("i := t.Global(0)")
	case 2:
		g.line("i := t.Global(1)*t.Size(0)*t.Blocks(0) + t.Global(0)")
	default:
		g.line("i := (t.Global(2)*t.Size(1)*t.Blocks(1)+t.Global(1))*t.Size(0)*t.Blocks(0) + t.Global(0)")
	}
	if together { // all threads arrive at the barriers
		g.line("var u uint32")
		g.line("var w float32")
		g.line("in := i < len(x)")
		g.line("if in {")
		g.line("\tu, w = x[i], f[i]")
		g.line("}")
	} else {
		g.line("if i >= len(%s) {", pick(g, []string{"x", "x", "z"})) // z ends within a block
		g.line("\treturn")
		g.line("}")
		g.line("u, w := x[i], f[i]")
	}
	g.line("l := %s", []string{"t.Local(0)", "t.Local(1)*t.Size(0) + t.Local(0)", "(t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)"}[s.dims-1])
	g.line("_ = l")
	g.line("sum := uint64(a)")
	g.calls, g.inside, g.rounds, g.large = true, true, 40000, g.IntN(2)
	oops := g.IntN(12) == 0
	leave := func() {
		if together {
			g.line("if in {")
			g.line("\ty[i] = %s", g.value("uint64", 2))
			g.line("}")
		} else {
			g.line("y[i] = %s", g.value("uint64", 2))
		}
		g.line("return")
	}
	if !oops && !together {
		g.leave = leave
	}
	for range 4 {
		g.statement(2)
	}
	if oops { // one thread fails, sooner or later
		which, off := g.IntN(max(1, s.total()-s.beyond-5)), pick(g, []string{"len(z)", "len(x)+i", "-1-i", "len(y) << 40"})
		thread := fmt.Sprintf("t.Global(0) == %d", which)
		if s.dims > 1 {
			thread = fmt.Sprintf("t.Global(0)*0+i == %d", which)
		}
		g.line("if %s { // oops", thread)
		g.line("\tz[%s]++", off)
		g.line("}")
	}
	if together {
		own := "s[l]"
		if s.dims == 1 && g.IntN(2) == 0 {
			own = "s[t.Local(0)]"
		}
		for range g.IntN(3) { // floats made of indexes are needed after the barriers
			name, t := g.name(), pick(g, scalars[:2])
			at := fmt.Sprintf("%s(%s)", t, pick(g, []string{"i", "l", "t.Global(0)", "t.Local(0)", "i + int(u&3)", "int(p.N) ^ l"}))
			g.line("%s := %s", name, fmt.Sprintf(pick(g, []string{"-%s", "%s * -1", "0.5 - %s", "-%s * 3", "min(-%s, -2)"}), at))
			g.declare(name, t)
		}
		if waits {
			g.waited(shared)
		}
		g.line("%s = %s", own, g.value(shared, 2))
		g.line("t.Barrier()")
		name := g.name()
		g.line("%s := s[(l+%d)%%%d]", name, g.IntN(s.group()), s.group())
		g.declare(name, shared)
		if shared != "bool" && g.IntN(2) == 0 { // a part of the memory of all, and one of a buffer
			row, part := g.name(), g.name()
			g.line("%s := s[%s]", row, pick(g, []string{"l/2:l+1", "l&^1:", "t.Local(0):][:1"}))
			g.line("%s := totalOf(%s, %s)", part, row, g.leaf(shared))
			g.declare(part, shared)
			if g.IntN(2) == 0 {
				g.line("t.Barrier()")
				g.line("%s += %s[0]", part, row)
			}
		}
		g.line("t.Barrier()")
		if g.IntN(2) == 0 { // the values move in place
			g.line("%s = %s", own, name)
		} else {
			g.line("%s += %s", own, g.value(shared, 1))
		}
		g.line("t.Barrier()")
		if waits {
			g.waited(shared)
		}
		// Not all of it in one kernel: Intel's compiler crashes at some kernels with 60 barriers, and PoCL's takes minutes for those in ifs.
		alike, combined := g.IntN(3) == 0, g.IntN(3)
		if waits && combined > 0 {
			alike, combined = false, 1
		}
		if *randomTogether {
			combined = max(combined, 1)
		}
		if alike {
			g.alike(own, shared, s.group())
		}
		for range combined {
			g.combined(s.group())
		}
		if g.tile != "" && g.IntN(3) > 0 {
			g.tiled()
		}
		if g.sized != "" && g.IntN(3) > 0 {
			g.measured()
		}
		last := g.name()
		g.line("%s := s[%d-l]", last, s.group()-1)
		g.declare(last, shared)
		if g.IntN(2) == 0 { // the same through a buffer, among the threads of a row of the block
			name := g.name()
			g.line("j := i - t.Local(0) + (t.Local(0)+%d)%%t.Size(0)", 1+g.IntN(3))
			g.line("g[i] = %s", g.value("float32", 2))
			g.line("t.Barrier()")
			g.line("%s := g[j]", name)
			g.declare(name, "float32")
			g.line("t.Barrier()")
			g.line("g[i] = %s", pick(g, []string{name, "-" + name, "float32(l)"}))
			g.line("t.Barrier()")
		}
		if v := g.variable("[4]float32", true); v != "" { // its element is needed after the barrier, and changed there
			name := g.name()
			g.line("%s := %s[u&3]", name, v)
			g.declare(name, "float32")
			g.line("t.Barrier()")
			g.line("%s[u&3] = %s", v, g.value("float32", 1))
		}
		if g.IntN(2) == 0 { // several threads change the same element, but none reads it before the barrier
			t, ops, bits := pick(g, []string{"uint32", "int64", "uint64", "float32", "Wide"}), []string{"Add", "Xor", "Or", "Max", "Min"}, "uint64"
			if g.single {
				t = strings.Replace(t, "int64", "int32", 1)
			}
			if isFloat(t) {
				ops, bits = ops[3:], map[string]string{"float32": "f32", "Wide": "wide"}[t] // sums depend on the order
			}
			g.line("c := grid.Shared[[2]%s](t)", t)
			g.line("grid.Atomic%s(&c[l&1], %s)", pick(g, ops), g.value(t, 2))
			g.line("t.Barrier()")
			g.line("sum += %s(c[0]) ^ %s(c[1])<<7", bits, bits)
		}
	}
	if g.IntN(2) == 0 { // each cell has one operation, whose order does not matter
		n := g.IntN(6)
		g.line("grid.Atomic%s(&z[(%d+i%%7)%%len(z)], %s)", []string{"Add", "Xor", "Or", "And", "Max", "Min"}[n], n*7, g.value("int32", 2))
	}
	if !oops {
		g.leave = leave
	}
	for range 4 {
		g.statement(2)
	}
	g.sum("sum")
	g.line("sum = sum*31 + uint64(p.N) + uint64(p.L[0]+p.L[3]*3+p.L[7]*5)")
	g.line("sum = sum*31 + e[i].sum()")
	g.line("_, _ = u, w")
	if together {
		g.line("if in {")
		g.line("\ty[i] = sum")
		g.line("}")
	} else {
		g.line("y[i] = sum")
	}
	if ends {
		for range g.IntN(3) {
			g.line("t.Barrier()")
		}
	}
	g.calls, g.inside, g.leave = false, false, nil
	g.depth = 0
	g.line("}")
}

// random writes the kernel of a seed as kernel number id of a package.
func random(seed uint64, id int) string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), single: *randomSingle}
	g.kernel(id, shaped(seed))
	return g.b.String()
}
