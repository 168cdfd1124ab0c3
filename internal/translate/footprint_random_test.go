package translate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// touching writes random kernels with indexes as kernels have them: the thread's place and constants, products with a width, loops, clamps, guards,
// matrices, functions, and now and then an index that nothing is known of. An index may be out of range: the thread ends there.
type touching struct {
	*rand.Rand
	b     strings.Builder
	depth int
	names int
	ints  []string // variables of type int
	loops int
	whole bool // the kernel has places in blocks
}

// touchedParams are the parameters of each of these kernels.
const touchedParams = "t grid.Thread, p int, q int32, x []int32, y []int32, z []int64, m grid.Matrix[int32], o grid.Matrix[int32]"

// touchedHelpers are functions that they call.
const touchedHelpers = `
func read(s []int32, i int) int32 { return s[i] + s[max(i-1, 0)] }

func put(s []int32, i int, v int32) {
	if i >= len(s) {
		return
	}
	s[i] = v
}

func clamp(i, n int) int {
	if i < 0 {
		return 0
	}
	if i >= n {
		return n - 1
	}
	return i
}

func flat(i, j, w int) int { return i*w + j }

func corner(m grid.Matrix[int32], i, j int) int32 { return m.At(i, min(j+1, m.Cols()-1)) }
`

func (g *touching) line(format string, args ...any) {
	fmt.Fprintf(&g.b, strings.Repeat("\t", g.depth)+format+"\n", args...)
}

func (g *touching) of(list ...string) string { return list[g.IntN(len(list))] }

func (g *touching) name() string {
	g.names++
	return fmt.Sprintf("a%d", g.names)
}

func (g *touching) variable() string { return g.of(g.ints...) }

// length returns a number that is the same for all threads.
func (g *touching) length() string {
	return g.of("len(x)", "len(y)", "len(z)", "p", "int(q)", "m.Rows()", "m.Cols()", "o.Rows()", "o.Cols()", "len(y)/2", "p+1", "4", "len(x)-1", "p*int(q)")
}

// index returns an index.
func (g *touching) index() string {
	v := g.variable()
	switch g.IntN(22) {
	case 0, 1, 2, 3, 4:
		return v
	case 5, 6:
		return fmt.Sprintf("%s%+d", v, g.IntN(5)-2)
	case 7, 8:
		return fmt.Sprintf("%s*%s+%s", v, g.of("p", "int(q)", "m.Cols()", "3", "2"), g.variable())
	case 9:
		return fmt.Sprintf("%d*%s+%d", 2+g.IntN(3), v, g.IntN(3))
	case 10:
		return fmt.Sprintf("min(%s+1, %s)", v, g.length())
	case 11:
		return fmt.Sprintf("max(%s-%d, 0)", v, g.IntN(3))
	case 12:
		return fmt.Sprintf("clamp(%s%+d, %s)", v, g.IntN(5)-2, g.length())
	case 13:
		return g.of(v+"%4", v+"/2", v+"&7", v+">>1", v+"<<1", v+"%"+g.length(), v+"/"+g.length())
	case 14:
		return fmt.Sprintf("%s-1-%s", g.length(), v)
	case 15:
		return fmt.Sprintf("int(int32(%s)%s)", v, g.of("*3", "+q", "-q", "*q"))
	case 16:
		return fmt.Sprintf("flat(%s, %s, %s)", v, g.variable(), g.length())
	case 17:
		return g.of("0", "1", "p", "len(y)-1")
	case 18:
		return fmt.Sprintf("int(x[%s])", v)
	case 19:
		return fmt.Sprintf("%s+%s", v, g.variable())
	case 20:
		return fmt.Sprintf("%s%s%s", v, g.of("+", "-", "*"), g.of("p", "int(q)", "int(uint8(q))", "int(int8(p))"))
	}
	return fmt.Sprintf("(%s+%d)*%s+%s", v, g.IntN(2), g.of("p", "int(q)", "m.Cols()"), g.variable())
}

func (g *touching) condition(deep int) string {
	v := g.variable()
	switch g.IntN(9) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("%s %s %s", v, g.of("<", "<", "<=", ">", ">=", "==", "!="), g.length())
	case 4:
		if deep > 0 {
			return fmt.Sprintf("(%s %s %s)", g.condition(deep-1), g.of("&&", "&&", "||"), g.condition(deep-1))
		}
	case 5:
		if deep > 0 {
			return "!(" + g.condition(deep-1) + ")"
		}
	case 6:
		return fmt.Sprintf("%s%+d %s %s", v, g.IntN(5)-2, g.of("<", ">=", "!="), g.length())
	case 7:
		return fmt.Sprintf("%s+%s %s %s", v, g.variable(), g.of("<", ">"), g.length())
	}
	return fmt.Sprintf("%s < len(x) && x[%s] %s %d", v, v, g.of("<", ">", "=="), g.IntN(5))
}

func (g *touching) value() string {
	switch g.IntN(9) {
	case 0, 1, 2:
		return fmt.Sprintf("x[%s]", g.index())
	case 3:
		return fmt.Sprintf("m.At(%s, %s)", g.index(), g.index())
	case 4:
		return fmt.Sprintf("read(x, %s)", g.index())
	case 5:
		return fmt.Sprintf("corner(m, %s, %s)", g.variable(), g.variable())
	case 6:
		return fmt.Sprintf("x[%s]+int32(%s)", g.variable(), g.variable())
	}
	return "int32(" + g.variable() + ")"
}

func (g *touching) block(n, deep int) {
	g.depth++
	before := len(g.ints)
	for range n {
		g.statement(deep)
	}
	g.ints = g.ints[:before]
	g.depth--
}

func (g *touching) statement(deep int) {
	if deep == 0 {
		g.write()
		return
	}
	switch g.IntN(14) {
	case 0, 1, 2, 3:
		g.write()
	case 4:
		n := g.name()
		g.line("%s := %s", n, g.index())
		g.line("_ = %s", n)
		g.ints = append(g.ints, n)
	case 5:
		if v := g.variable(); v[0] == 'a' {
			g.line("%s %s %s", v, g.of("=", "+=", "-="), g.of("1", "2", g.variable(), g.index()))
		}
	case 6, 7, 8:
		g.line("if %s {", g.condition(1))
		g.block(1+g.IntN(2), deep-1)
		switch g.IntN(5) {
		case 0, 1:
			g.line("} else {")
			g.block(1, deep-1)
		case 2:
			if g.loops > 0 {
				g.line("\t%s", g.of("continue", "break", "return"))
			} else {
				g.line("\treturn")
			}
		}
		g.line("}")
	case 9, 10, 11:
		g.loop(deep)
	case 12:
		g.line("switch {")
		g.line("case %s:", g.condition(0))
		g.block(1, deep-1)
		g.line("case %s:", g.condition(0))
		g.block(1, deep-1)
		g.line("}")
	case 13:
		g.line("if %s {", g.condition(1))
		g.line("\t%s", g.of("return", "return", map[bool]string{true: "continue", false: "return"}[g.loops > 0]))
		g.line("}")
	}
}

func (g *touching) loop(deep int) {
	k := g.name()
	switch g.IntN(10) {
	case 0, 1:
		g.line("for %s := range %s {", k, g.length())
	case 9: // places first, then assignments
		g.line("%s := %s", k, g.variable())
		if g.IntN(2) == 0 {
			g.line("for %s = range %s {", k, g.length())
		} else {
			g.line("for %s, y[%s] = range x {", k, g.of(k, g.index()))
		}
	case 2:
		g.line("for %s, v := range x {", k)
		g.line("\t_ = v")
	case 3:
		g.line("for %s := %s; %[1]s < %[3]s; %[1]s++ {", k, g.index(), g.length())
	case 4:
		g.line("for %s := %s; %[1]s %[3]s %[4]s; %[1]s += %[5]s {", k, g.of("0", g.variable()), g.of("<", "<="), g.length(), g.of("2", "3", "p", "len(x)", "t.Size(0)*t.Blocks(0)"))
		g.whole = true
	case 5:
		g.line("for %s := %s; %[1]s %[3]s 0; %[1]s-- {", k, g.index(), g.of(">", ">="))
	case 6:
		g.line("for %s := %s; %[1]s > 0; %[1]s %[3]s 2 {", k, g.length(), g.of("/=", "-="))
	case 7:
		g.line("for %s := int32(0); %[1]s < q; %[1]s%[2]s {", k, g.of("++", " += 3"))
		n := g.name()
		g.line("\t%s := int(%s)", n, k)
		g.line("\t_ = %s", n)
		k = n
	case 8:
		g.line("for %s := %s; %[1]s < %[3]s && x[%[1]s] < 9; %[1]s++ {", k, g.variable(), g.of("len(x)", g.length()))
	}
	g.ints = append(g.ints, k)
	g.line("\t_ = %s", k)
	g.loops++
	g.block(1+g.IntN(2), deep-1)
	g.loops--
	g.ints = g.ints[:len(g.ints)-1]
	g.line("}")
}

func (g *touching) write() {
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		g.line("y[%s] = %s", g.index(), g.value())
	case 4:
		g.line("y[%s] %s= %s", g.index(), g.of("+", "^"), g.value())
	case 5:
		g.line("z[%s] = int64(%s)", g.index(), g.value())
	case 6:
		g.line("z[%s]++", g.index())
	case 7, 8:
		g.line("o.Set(%s, %s, %s)", g.index(), g.index(), g.value())
	case 9:
		g.line("*m.Ref(%s, %s) += 1", g.index(), g.index())
	case 10:
		g.line("grid.AtomicAdd(&y[%s], 1)", g.index())
	case 11:
		g.line("put(y, %s, %s)", g.index(), g.value())
	}
}

// plain writes the end of a kernel that can often be cut, and that fills what it writes.
func (g *touching) plain() {
	switch g.IntN(7) {
	case 0:
		g.line("if i < len(y) {")
		g.line("\ty[i] = %s", g.of("x[i]", "x[i]+x[max(i-1, 0)]", "int32(p)", "y[i]+1"))
		g.line("}")
	case 1:
		w := g.of("p", "int(q)", "m.Cols()")
		g.line("if i < %s {", w)
		g.line("\ty[j*%s+i] = %s", w, g.of("int32(i)", "m.At(j, i)", "y[j*"+w+"+i]+2"))
		g.line("}")
	case 2:
		g.line("if i >= o.Cols() || j >= o.Rows() {")
		g.line("\treturn")
		g.line("}")
		g.line("o.Set(j, i, %s)", g.of("m.At(j, i)", "int32(i)", "x[i]"))
	case 3:
		n := 2 + g.IntN(3)
		g.line("if i < len(y)/%d {", n)
		for k := range n {
			g.line("\ty[%d*i+%d] = int32(i)", n, k)
		}
		g.line("}")
	case 4:
		g.line("if j >= m.Rows() {")
		g.line("\treturn")
		g.line("}")
		g.line("for k := range m.Cols() {")
		g.line("\t*m.Ref(j, k) += x[%s]", g.of("k", "j", "0"))
		g.line("}")
	case 5:
		g.line("if i >= len(z) {")
		g.line("\treturn")
		g.line("}")
		g.line("if i == 0 || i == len(z)-1 {")
		g.line("\tz[i] = 1")
		g.line("\treturn")
		g.line("}")
		g.line("z[%s] = int64(x[i-1])", g.of("i", "i", "len(z)-1-i"))
	case 6:
		g.whole = true
		g.line("if l == 0 && t.Block(0) < len(y) {")
		g.line("\ty[t.Block(0)] = int32(i)")
		g.line("}")
	}
}

// touched returns the random kernel of a seed, called k and the number k.
func touched(seed uint64, k int) string {
	g := &touching{Rand: rand.New(rand.NewPCG(seed, 7)), ints: []string{"i", "i", "j", "i", "l"}, depth: 1}
	g.line("i, j, l := t.Global(0), t.Global(1), t.Local(0)")
	if g.IntN(6) == 0 {
		g.b.Reset()
		g.line("i, j, l := t.Block(0)*t.Size(0)+t.Local(0), t.Global(1), t.Local(0)")
	}
	g.line("_, _, _ = i, j, l")
	if g.IntN(3) == 0 {
		g.line("if i >= %s {", g.length())
		g.line("\treturn")
		g.line("}")
	}
	switch g.IntN(3) {
	case 0:
		g.plain()
	case 1:
		g.depth--
		g.block(1, 2)
		g.depth++
		g.plain()
	default:
		g.depth--
		g.block(1+g.IntN(4), 3)
		g.depth++
	}
	return fmt.Sprintf("\n//halyard:kernel\nfunc k%d(%s) {\n%s}\n", k, touchedParams, g.b.String())
}
