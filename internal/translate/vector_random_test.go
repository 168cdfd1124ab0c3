package translate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// laneHead begins a package of such kernels.
const laneHead = `package main

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

func some32(x float32) float32 {
	if x != x {
		return 1
	}
	return x
}

func some64(x float64) float64 {
	if x != x {
		return 1
	}
	return x
}

var _ = math.Abs

type triple32 struct{ a, b, c float32 }

type triple64 struct{ a, b, c float64 }

var weights = [...]float32{0.5, -2, 3e7, 0.1, 1e-40, 4}

`

// laneKernel returns a random kernel named k with an id. It is made of what becomes vector code, and of a little that does not. Its numbers have
// 32 bits and less, or some have 64.
func laneKernel(seed uint64, id int) string {
	g := &laneGenerator{Rand: rand.New(rand.NewPCG(seed, 2)), id: id, wide: seed%3 == 0}
	g.f, g.i, g.u = "float32", "int32", "uint32"
	if g.wide {
		g.f, g.i, g.u = "float64", "int64", "uint64"
	}
	if k := seed % 20; k < uint64(len(laneForms)) {
		g.head()
		form := strings.NewReplacer("FLOAT", g.f, "SIZE", g.f[5:]).Replace(laneForms[k])
		g.b.WriteString("\ti := t.Global(0)\n\tif i >= n {\n\t\treturn\n\t}\n\t" + form + "\n}\n\n")
		return g.b.String()
	}
	return g.kernel()
}

// laneForms are kernels that random ones are seldom like, and that always have vectors. FLOAT is a type, and SIZE its bits.
var laneForms = []string{
	"y[i] = x[max(i-1, 0)] - x[min(i+1, n-1)] + x[max(i-3, 0)]*FLOAT(a)",
	"if n-i > 3 && i-n < -5 || 7-i == 2 {\n\t\ty[i] = a + x[i]\n\t}",
	"e[i] = tripleSIZE{e[i].c, FLOAT(e[i].a * a), e[i].b}",
	"y[i] = FLOAT(math.Exp(float64(x[i]))) + FLOAT(math.Floor(float64(FLOAT(x[i]*a))))",
	"y[i], z[i] = x[i]+a, z[i]\n\tif x[i] > a {\n\t\tx[i] = y[i] + 1\n\t}",
}

type laneGenerator struct {
	*rand.Rand
	b       strings.Builder
	id      int
	wide    bool
	f, i, u string // types of 32 bits, or of 64
	vars    []laneName
	next    int
	depth   int
	loops   []string // the post statements of the loops around
	inCall  string   // the type of the result of the function that is written
	helpers []laneName
	stored  bool
	step    int  // if not 0, most elements of threads are so far apart
	plain   bool // an expression has no elements and no calls
	arrays  bool // many loops are over arrays
	rounds  int  // how many more rounds its long loops may have
	large   int  // how many more wide switches, deep nestings and long expressions it may have
}

type laneName struct {
	name, typ string
	fixed     bool // it is not assigned to
}

func (g *laneGenerator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.depth+1) + fmt.Sprintf(format, args...) + "\n")
}

func (g *laneGenerator) one(all ...string) string { return all[g.IntN(len(all))] }

// head writes the head of the kernel.
func (g *laneGenerator) head() {
	fmt.Fprintf(&g.b, "//halyard:kernel\nfunc k%d(t grid.Thread, n int, a %s, m %s, c %s, x, y []%[2]s, z []%[3]s, u []%[4]s, w []uint16, s []int8, p []float32, q []int32, v [][4]%[2]s, o [][3][4]%[2]s, e []triple%[5]s) {\n", g.id, g.f, g.i, g.u, g.f[5:])
}

func (g *laneGenerator) kernel() string {
	for range g.IntN(3) {
		g.helper()
	}
	g.head()
	g.vars = []laneName{{"a", g.f, g.IntN(4) > 0}, {"m", g.i, g.IntN(4) > 0}, {"c", g.u, g.IntN(4) > 0}}
	switch g.IntN(3) {
	case 0:
		g.line("i := t.Global(0)")
		g.line("if i >= n {")
		g.line("\treturn")
		g.line("}")
	case 1:
		g.line("i := t.Global(0) + t.Global(1)*n")
		g.line("if t.Global(0) >= n {")
		g.line("\treturn")
		g.line("}")
	default:
		g.line("i := t.Global(1)*n + t.Global(0)")
	}
	g.line("_ = i")
	if g.IntN(4) == 0 {
		g.step = 2 + g.IntN(2)
	}
	g.arrays, g.rounds, g.large = g.IntN(3) == 0, 8000, g.IntN(2)
	g.start("a", "m")
	g.block(3 + g.IntN(6))
	if !g.stored || g.IntN(2) == 0 {
		g.store()
	}
	g.b.WriteString("}\n\n")
	return g.b.String()
}

// helper writes a function that kernels call.
func (g *laneGenerator) helper() {
	h := laneName{name: fmt.Sprintf("h%d_%d", g.id, len(g.helpers)), typ: g.one(g.f, g.i, g.u, "bool")}
	fmt.Fprintf(&g.b, "func %s(p %s, q %s) %s {\n", h.name, g.f, g.i, h.typ)
	g.vars, g.inCall = []laneName{{"p", g.f, false}, {"q", g.i, g.IntN(2) == 0}}, h.typ
	g.start("p", "q")
	g.block(1 + g.IntN(4))
	g.line("return %s", g.expr(h.typ, 2))
	g.b.WriteString("}\n\n")
	fmt.Fprintf(&g.b, "func two%s(p %s, q %s) (%[2]s, %[3]s) {\n\tif p > 2 {\n\t\treturn -p, q\n\t}\n\treturn p, q * 3\n}\n\n", h.name, g.f, g.i)
	g.inCall, g.helpers = "", append(g.helpers, h)
}

func (g *laneGenerator) block(n int) {
	vars := len(g.vars)
	g.depth++
	for range n {
		g.statement()
	}
	g.depth--
	g.vars = g.vars[:vars]
}

func (g *laneGenerator) statement() {
	deep := g.depth > 3
	if g.IntN(12) == 0 {
		g.unusual()
		return
	}
	k := g.IntN(20)
	if g.arrays && g.IntN(4) == 0 {
		k = 17
	}
	switch {
	case k < 5:
		t := g.one(g.f, g.i, g.u, "bool", g.f, g.i)
		if g.IntN(5) == 0 {
			t = g.one("uint16", "int8", "uint8", "int16", "int32", "uint32", "float32")
		}
		e := g.expr(t, 3)
		g.next++
		v := laneName{fmt.Sprintf("v%d", g.next), t, g.IntN(3) == 0}
		if g.IntN(4) == 0 {
			g.line("var %s %s = %s", v.name, t, e)
		} else {
			g.line("%s := %s(%s)", v.name, t, e)
		}
		g.line("_ = %s", v.name)
		g.vars = append(g.vars, v)
	case k < 10:
		if v, ok := g.assignable(""); ok {
			g.assign(v)
		}
	case k < 11 && len(g.helpers) > 0 && g.inCall == "" && g.IntN(2) == 0:
		g.next++
		g.line("v%da, v%[1]db := two%s(%s, %s)", g.next, g.helpers[0].name, g.expr(g.f, 2), g.expr(g.i, 2))
		g.line("_, _ = v%da, v%[1]db", g.next)
		g.vars = append(g.vars, laneName{fmt.Sprintf("v%da", g.next), g.f, g.IntN(2) == 0}, laneName{fmt.Sprintf("v%db", g.next), g.i, g.IntN(2) == 0})
	case k < 11:
		v, ok := g.assignable("")
		if w, ok2 := g.assignable(""); ok && ok2 && v.name != w.name {
			g.line("%s, %s = %s, %s", v.name, w.name, g.expr(v.typ, 2), g.expr(w.typ, 2))
		}
	case k < 14 && !deep:
		g.line("if %s {", g.expr("bool", 3))
		g.block(1 + g.IntN(3))
		if g.IntN(2) == 0 {
			g.line("} else {")
			g.block(1 + g.IntN(2))
		}
		g.line("}")
	case k < 16 && !deep && len(g.loops) < 2:
		g.loop()
	case k < 17 && len(g.loops) > 0:
		g.line("if %s {", g.expr("bool", 2))
		g.line("\t%s", g.one("break", "continue"))
		g.line("}")
	case k < 18 && (g.arrays || g.IntN(3) == 0) && g.inCall == "" && len(g.loops) < 2:
		g.array()
	case k < 18 && g.IntN(2) == 0:
		g.line("if %s {", g.expr("bool", 2))
		if g.inCall != "" {
			g.line("\treturn %s", g.expr(g.inCall, 2))
		} else {
			g.line("\treturn")
		}
		g.line("}")
	default:
		if g.inCall == "" {
			g.store()
		}
	}
}

func (g *laneGenerator) assignable(typ string) (laneName, bool) {
	var found []laneName
	for _, v := range g.vars {
		if !v.fixed && (typ == "" || v.typ == typ) {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return laneName{}, false
	}
	return found[g.IntN(len(found))], true
}

func (g *laneGenerator) assign(v laneName) {
	switch {
	case v.typ == "bool" || g.IntN(2) == 0:
		g.line("%s = %s", v.name, g.expr(v.typ, 3))
	case strings.HasPrefix(v.typ, "float"):
		g.line("%s %s %s", v.name, g.one("+=", "-=", "*="), g.expr(v.typ, 2))
	case g.IntN(4) == 0:
		g.line("%s%s", v.name, g.one("++", "--"))
	case g.IntN(4) == 0:
		g.line("%s %s %d", v.name, g.one("<<=", ">>="), g.IntN(9))
	default:
		g.line("%s %s %s", v.name, g.one("+=", "-=", "&=", "|=", "^=", "&^="), g.expr(v.typ, 2))
	}
}

func (g *laneGenerator) loop() {
	g.next++
	v := laneName{fmt.Sprintf("v%d", g.next), g.i, true}
	bound := g.one(fmt.Sprint(1+g.IntN(6)), g.count()+"&7", fmt.Sprintf("%s&7", g.expr(g.i, 2)))
	vars := len(g.vars)
	switch g.IntN(6) {
	case 4: // up or down, between numbers that may differ
		v.typ = g.one(g.i, g.u)
		g.line("for %s := %s & 15; %[1]s %[3]s; %[1]s %[4]s {", v.name, g.expr(v.typ, 1), g.one("> 2", ">= 3", "!= 0"), g.one("--", "-= 1"))
	case 5:
		v.typ = g.one(g.i, g.u)
		g.line("for %s := %s & 7; %[1]s < %[3]s&15; %[1]s += %[4]d {", v.name, g.expr(v.typ, 1), g.expr(v.typ, 1), 1+g.IntN(3))
	case 0:
		over := g.one("4", g.count()+"&3", "3")
		if v.typ = "int"; strings.Contains(over, "&") {
			v.typ = g.i
		}
		g.line("for %s := range %s {", v.name, over)
	case 1:
		g.line("for %s := %s(0); %s < %s && (%s); %[1]s++ {", v.name, g.i, v.name, bound, g.expr("bool", 2))
	default:
		g.line("for %s := %s(0); %s < %s; %[1]s++ {", v.name, g.i, v.name, bound)
	}
	g.vars = append(g.vars, v)
	g.loops = append(g.loops, v.name)
	g.depth++
	g.line("_ = %s", v.name)
	g.depth--
	g.block(1 + g.IntN(4))
	g.loops = g.loops[:len(g.loops)-1]
	g.vars = g.vars[:vars]
	g.line("}")
}

// unusual writes a statement that few kernels have: a range with =, a store before a return, a wide switch, deep nesting, a long expression, or a loop
// of many rounds. Of some no vectors are made.
func (g *laneGenerator) unusual() {
	v, ok := g.assignable(g.one(g.i, g.u))
	kind := g.IntN(8)
	switch {
	case !ok || g.depth > 3 || kind > 1 && kind < 5 && (g.large == 0 || g.inCall != ""):
	case kind == 0:
		k, ok := g.assignable(g.i)
		if !ok || len(g.loops) > 1 {
			return
		}
		vars := len(g.vars)
		if g.inCall != "" || g.IntN(2) == 0 {
			g.line("for %s = range %s {", k.name, g.one("4", "3", g.count()+"&3"))
		} else {
			x, _ := g.assignable(g.f)
			g.next++
			d := laneName{fmt.Sprintf("v%d", g.next), "int", true}
			g.line("%s := i", d.name)
			g.line("_ = %s", d.name)
			g.vars = append(g.vars, d)
			if x.name == "" {
				x.name = "_"
			}
			g.line("for %s, %s = range v[%s] {", d.name, x.name, g.index(false))
		}
		g.loops = append(g.loops, k.name)
		g.block(1 + g.IntN(3))
		g.loops = g.loops[:len(g.loops)-1]
		g.vars = g.vars[:min(len(g.vars), vars+1)]
		g.line("}")
	case kind == 1 && g.inCall == "":
		g.line("if %s {", g.expr("bool", 2))
		g.depth++
		g.store()
		g.line("return")
		g.depth--
		g.line("}")
	case kind == 2:
		g.large--
		g.line("switch %s & 127 {", g.expr(v.typ, 1))
		falls := g.IntN(2) == 0
		for k := range 80 + g.IntN(48) {
			g.line("case %s%d:", g.one("", "", fmt.Sprintf("%d, ", k+128)), k)
			g.line("\t%s = %s*3 + %d", v.name, v.name, k)
			if falls && g.IntN(8) == 0 {
				g.line("\tfallthrough")
			}
		}
		g.line("default:")
		g.line("\t%s--", v.name)
		g.line("}")
	case kind == 3:
		g.large--
		n := 20 + g.IntN(40)
		for k := range n {
			g.line("if %s || %s&1023 != %d {", g.expr("bool", 1), g.leaf(g.i), k*7)
			g.line("%s++", v.name)
		}
		g.store()
		for range n {
			if g.IntN(3) == 0 {
				g.line("} else {")
				g.line("%s ^= 5", v.name)
			}
			g.line("}")
		}
	case kind == 4:
		g.large--
		sum := g.leaf(v.typ)
		for range 20 + g.IntN(80) {
			sum += g.one(" + ", " - ", " ^ ", " | ", " * ", " &^ ") + g.leaf(v.typ)
		}
		g.line("%s = %s", v.name, sum)
	default:
		n := 1 + g.IntN(2000)
		if g.inCall != "" {
			n = 1 + n/40
		}
		if len(g.loops) > 0 || n > g.rounds && g.inCall == "" {
			return
		}
		g.rounds -= n
		g.next++
		g.line("for v%d := range %d {", g.next, n)
		g.line("\t%s = %s*5 + %s(v%d)", v.name, v.name, v.typ, g.next)
		g.line("\tif %s&31 == 7 {", v.name)
		g.line("\t\t%s", g.one("continue", v.name+" ^= 9", "break"))
		g.line("\t}")
		g.line("}")
	}
}

// array writes a loop over the elements of an array, perhaps in one with steps, or stores that go to different places.
func (g *laneGenerator) array() {
	g.next++
	number, at, vars := g.next, "i", len(g.vars)
	if g.IntN(2) == 0 {
		at = fmt.Sprintf("v%d", number)
		g.line("for %s := i; %s; %[1]s += %[3]s {", at, g.one(at+" < len(v)", at+" < len(v) && "+g.expr("bool", 1)), g.one("len(x)", "n + 1", "3", "len(v)"))
		g.depth++
		defer func() {
			g.depth--
			g.line("}")
			g.vars = g.vars[:vars]
		}()
		g.loops = append(g.loops, at)
		defer func() { g.loops = g.loops[:len(g.loops)-1] }()
	}
	each := func(body func(x laneName)) {
		d, x := fmt.Sprintf("d%d", number), laneName{fmt.Sprintf("x%d", number), g.f, g.IntN(2) == 0}
		g.line("for %s, %s := range v[%s] {", d, x.name, at)
		g.depth++
		g.line("_, _ = %s, %s", d, x.name)
		g.vars = append(g.vars, x)
		body(x)
		g.vars = g.vars[:len(g.vars)-1]
		g.depth--
		g.line("}")
	}
	sum := func(laneName) {
		for range 1 + g.IntN(2) {
			if a, ok := g.assignable(""); ok {
				g.assign(a)
			}
		}
		if g.IntN(3) == 0 {
			g.line("if %s {", g.expr("bool", 2))
			g.depth++
			if a, ok := g.assignable(g.f); ok {
				g.assign(a)
			}
			g.depth--
			g.line("}")
		}
	}
	if g.IntN(3) == 0 {
		each(sum)
		return
	}
	best, least, c, away := fmt.Sprintf("best%d", number), fmt.Sprintf("least%d", number), fmt.Sprintf("c%d", number), fmt.Sprintf("away%d", number)
	g.line("%s, %s := 0, %s(1e30)", best, least, g.f)
	g.line("for %s := range 3 {", c)
	g.depth++
	g.line("%s := %s(0)", away, g.f)
	each(func(x laneName) {
		g.line("%s += %s((%s - v[%s][%s]) * %s)", away, g.f, x.name, c, fmt.Sprintf("d%d", number), g.one(x.name, "a"))
	})
	g.line("if %s < %s {", away, least)
	g.line("\t%s, %s = %s, %s", best, least, c, away)
	g.line("}")
	g.depth--
	g.line("}")
	switch g.IntN(3) {
	case 0:
		g.line("z[i] = %s(%s)", g.i, best)
	default:
		g.plain = true
		g.line("o[i][%s][%d] %s %s", best, g.IntN(4), g.one("=", "+=", "-="), g.expr(g.f, 2))
		if g.IntN(2) == 0 {
			each(func(x laneName) {
				g.line("o[i][%s][d%d] += %s", best, number, g.one(x.name, g.expr(g.f, 1)))
			})
		}
		g.plain = false
	}
	g.stored = true
}

// index returns an index. It is sometimes out of range.
func (g *laneGenerator) index(store bool) string {
	if !store && g.IntN(5) == 0 {
		for _, v := range g.vars {
			if v.typ == "int" {
				return g.one(v.name, "i + "+v.name)
			}
		}
		return g.one("0", "n - 1", "2", "int(m & 3)")
	}
	if !store && g.IntN(12) == 0 {
		return g.one("max(t.Global(0)-1, 0)", "min(t.Global(0)+1, n-1)", "min(n-1, t.Global(0)+2)", "max(min(t.Global(0), n-2), 1)", "max(0, i-2)")
	}
	if g.step > 0 && (store || g.IntN(4) > 0) {
		if !store && g.IntN(4) == 0 {
			return g.one("i*n + 1", "n - i", "3 - 2*i", "i*i")
		}
		return fmt.Sprintf(g.one("%d*i", "i * %d + 1", "%d*i", "%d*i + 1", "1 + (i+1)*%d", "%d*i + n"), g.step)
	}
	return g.one("i", "i", "i", "i", "i + 1", "i - 1", "i + 2", "i + n", "t.Global(0)")
}

func (g *laneGenerator) store() {
	g.stored = true
	if g.IntN(16) == 0 {
		g.line("e[%s] = triple%s{c: %s, a: %s}", g.one("i", "i + 1"), g.f[5:], g.expr(g.f, 2), g.expr(g.f, 1))
		return
	}
	if g.IntN(12) == 0 {
		g.line("%s %s %s", g.one("e[i].b", "e[i+1].a", "e[2].c", "v[i][1]", "v[i+1][3]", "o[i][2][0]", "o[i][1][m&1]", "v[2][i]", "o[1][2][i]"), g.one("=", "+="), g.expr(g.f, 2))
		return
	}
	name, typ := g.slice()
	e := g.expr(typ, 3)
	if typ != "bool" && g.IntN(3) == 0 && typ != "uint16" && typ != "int8" {
		g.line("%s[%s] += %s", name, g.index(true), e)
		return
	}
	g.line("%s[%s] = %s", name, g.index(true), e)
}

func (g *laneGenerator) slice() (name, typ string) {
	k := g.IntN(14)
	switch {
	case k < 5:
		return g.one("x", "y"), g.f
	case k < 8:
		return "z", g.i
	case k < 10:
		return "u", g.u
	case k < 11:
		return "w", "uint16"
	case k < 12:
		return "p", "float32"
	case k < 13:
		return "q", "int32"
	}
	return "s", "int8"
}

func (g *laneGenerator) expr(t string, depth int) string {
	if g.inCall == "" && !g.plain && t == g.f && g.IntN(24) == 0 {
		return g.one("e[i].a", "e[i+1].c", "e[2].b", "e[m&3].a", "v[i][1]", "v[i+1][3]", "o[i][2][0]", "o[i][1][m&1]", "v[2][i]", "v[1][2]", "o[1][2][i]", "o[m&3][2][1]")
	}
	if t == g.f && !g.plain && g.IntN(30) == 0 {
		return fmt.Sprintf("%s(weights[%s])", t, g.one("2", g.count()+" & 3", g.count()+" & 3", g.count()+" & 7"))
	}
	if g.inCall == "" && !g.plain && g.IntN(4) == 0 && depth < 3 {
		for range 3 {
			if name, typ := g.slice(); typ == t {
				return fmt.Sprintf("%s[%s]", name, g.index(false))
			}
		}
	}
	if depth == 0 || g.IntN(6) == 0 {
		return g.leaf(t)
	}
	d := depth - 1
	second := func(t string) string {
		if g.IntN(4) == 0 {
			return g.constant(t)
		}
		return g.expr(t, d)
	}
	e := func(t string) string { return g.expr(t, d) }
	for _, h := range g.helpers {
		if h.typ == t && g.inCall == "" && !g.plain && g.IntN(8) == 0 {
			return fmt.Sprintf("%s(%s, %s)", h.name, e(g.f), e(g.i))
		}
	}
	switch t {
	case "bool":
		switch g.IntN(7) {
		case 0:
			return fmt.Sprintf("(%s && %s)", e("bool"), e("bool"))
		case 1:
			return fmt.Sprintf("(%s || %s)", e("bool"), e("bool"))
		case 2:
			return fmt.Sprintf("!(%s)", e("bool"))
		case 3:
			if g.inCall == "" {
				return fmt.Sprintf("%s %s %s", g.one("i", "i + 3", "t.Global(0)", "n - i", "5 - t.Global(0)", "i - n", "int(m) - i"), g.one("<", "<=", ">", ">=", "==", "!="), g.one("n", "n - 2", "5", "7", "-1", "int(m)"))
			}
		}
		of := g.one(g.f, g.i, g.u, g.f, "float32", "int32")
		return fmt.Sprintf("%s %s %s", e(of), g.one("<", "<=", ">", ">=", "==", "!="), second(of))
	case "float32", "float64":
		if g.wide && g.IntN(8) == 0 {
			return fmt.Sprintf("%s(%s)", t, e(g.one("float32", "float64", "int32", "uint32", "uint16", "int8")))
		}
		switch g.IntN(13) {
		case 0:
			return fmt.Sprintf("(-%s)", e(t))
		case 1:
			if t == "float64" {
				return fmt.Sprintf("math.%s(%s)", g.one("Sqrt", "Abs", "Exp", "Floor", "Cbrt"), e(t))
			}
			return fmt.Sprintf("float32(math.%s(float64(%s)))", g.one("Sqrt", "Abs", "Exp", "Floor", "Cbrt"), e(t))
		case 2:
			return fmt.Sprintf("%s(%s, %s)", g.one("min", "max"), e(t), second(t))
		case 3:
			return fmt.Sprintf("%s(%s)", t, e(g.i))
		case 4:
			return fmt.Sprintf("%s(%s)", t, e(g.u))
		case 5:
			if g.inCall == "" {
				return fmt.Sprintf("%s(%s)", t, g.one("i", "t.Global(0)", "i - 100"))
			}
		}
		return fmt.Sprintf("%s(%s %s %s)", t, e(t), g.one("+", "-", "*", "/", "*", "+"), second(t))
	}
	narrow := t != g.i && t != g.u
	switch g.IntN(12) {
	case 0:
		return fmt.Sprintf("(-%s)", e(t))
	case 1:
		return fmt.Sprintf("(^%s)", e(t))
	case 2:
		return fmt.Sprintf("%s(%s, %s)", g.one("min", "max"), e(t), second(t))
	case 3:
		return fmt.Sprintf("(%s %s %d)", e(t), g.one("<<", ">>"), g.number(0, 1, 3, 7, 15, 31, 33, 63, 64))
	case 4:
		return fmt.Sprintf("(%s %s %s(%s & 63))", e(t), g.one("<<", ">>"), g.u, g.count())
	case 5:
		if t == g.i && g.inCall == "" {
			return fmt.Sprintf("%s(%s)", t, g.one("i", "t.Global(0)", "i - 100"))
		}
		return fmt.Sprintf("%s(%s)", t, e(g.one(g.i, g.u)))
	case 6:
		return fmt.Sprintf("%s(%s)", t, e(g.one("uint16", "int8", "uint8", "int16", "int32", "uint32")))
	case 7:
		if !narrow || g.wide {
			return fmt.Sprintf("%s(%s)", t, e(g.one(g.f, "float32")))
		}
	case 8:
		if t == g.u {
			bits := map[bool]string{false: "Float32bits", true: "Float64bits"}[g.wide]
			return fmt.Sprintf("math.%s(some%s(%s))", bits, g.f[5:], e(g.f))
		}
	case 9: // the divisor may be 0
		if g.inCall == "" && g.IntN(3) == 0 {
			return fmt.Sprintf("%s(%s %s (m & 3))", t, g.one("m", "(m + 5)", "100"), g.one("/", "%"))
		}
	}
	op := g.one("+", "-", "*", "&", "|", "^", "&^", "+")
	return fmt.Sprintf("(%s %s %s)", e(t), op, second(t))
}

func (g *laneGenerator) number(all ...int) int { return all[g.IntN(len(all))] }

// leaf returns a variable. It is never a constant, so that Go computes no expression before the program runs.
func (g *laneGenerator) leaf(t string) string {
	var names []string
	for _, v := range g.vars {
		if v.typ == t {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s(%s)", t, g.leaf(g.i))
	}
	return names[g.IntN(len(names))]
}

func (g *laneGenerator) constant(t string) string {
	if strings.HasPrefix(t, "float") {
		return fmt.Sprintf("%s(%s)", t, g.one("0", "1", "-1.5", "0.1", "3e7", "-2.25", "1e-40"))
	}
	return fmt.Sprintf("%s(%s)", t, g.one("0", "1", "2", "7", "100", "127"))
}

// count returns the name of a whole number that the kernel, or the function, is passed.
func (g *laneGenerator) count() string {
	if g.inCall != "" {
		return "q"
	}
	return "m"
}

// start declares a variable of each type.
func (g *laneGenerator) start(f, i string) {
	g.line("f0, i0, u0, b0 := %s(%s), %s, %s(%s), %s > 3", g.f, f, i, g.u, i, i)
	g.line("_, _, _, _ = f0, i0, u0, b0")
	g.vars = append(g.vars, laneName{"f0", g.f, g.IntN(2) == 0}, laneName{"i0", g.i, g.IntN(2) == 0}, laneName{"u0", g.u, g.IntN(2) == 0}, laneName{"b0", "bool", g.IntN(2) == 0})
}
