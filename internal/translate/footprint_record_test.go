package translate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// recorded returns the source of kernels in which each access of an element is recorded first: x[i] becomes x[recordAt(x, i, 1)]. It does not use what the
// translation finds out.
func recorded(t *testing.T, src string) string {
	t.Helper()
	imp, err := imports()
	require.NoError(t, err)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "k.go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := check(fset, "p", []*ast.File{file}, imp).Info
	isSlice := func(e ast.Expr) bool {
		tv, ok := info.Types[e]
		if !ok || !tv.IsValue() {
			return false
		}
		_, is := tv.Type.Underlying().(*types.Slice)
		return is
	}
	modes := map[ast.Node]int{} // 1 is a read, 2 a write, 4 a write of a part
	var mark func(e ast.Expr, mode int)
	mark = func(e ast.Expr, mode int) {
		switch e := e.(type) {
		case *ast.ParenExpr:
			mark(e.X, mode)
		case *ast.StarExpr:
			mark(e.X, mode)
		case *ast.SelectorExpr:
			mark(e.X, mode|mode&2<<1)
		case *ast.IndexExpr:
			if isSlice(e.X) {
				modes[e] = mode
			} else {
				mark(e.X, mode|mode&2<<1)
			}
		case *ast.CallExpr:
			modes[e] = mode
		}
	}
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	around := func(e ast.Node, before, after string) {
		all = append(all, insertion{offset(e.Pos()), before}, insertion{offset(e.End()), after})
	}
	text := func(e ast.Node) string { return src[offset(e.Pos()):offset(e.End())] }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				mark(l, map[bool]int{true: 2, false: 3}[n.Tok == token.ASSIGN])
			}
		case *ast.IncDecStmt:
			mark(n.X, 3)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				mark(n.X, 7)
			}
		case *ast.IndexExpr:
			if isSlice(n.X) {
				mode := modes[n]
				if mode == 0 {
					mode = 1
				}
				around(n.Index, "recordAt("+text(n.X)+", ", fmt.Sprintf(", %d)", mode))
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || load.MatrixOf(info.TypeOf(sel.X)) == nil {
				break
			}
			switch sel.Sel.Name {
			case "At":
				around(n.Args[0], "recordCell("+text(sel.X)+", ", "")
				all = append(all, insertion{offset(n.Args[1].End()), ", 1)"})
			case "Ref":
				mode := modes[n]
				if mode == 0 {
					mode = 7
				}
				around(n.Args[0], "recordCell("+text(sel.X)+", ", "")
				all = append(all, insertion{offset(n.Args[1].End()), fmt.Sprintf(", %d)", mode)})
			case "Set":
				around(n.Args[0], "recordSet("+text(sel.X)+", ", "")
				all = append(all, insertion{offset(n.Args[2].End()), ")"})
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if n.Tok == token.ASSIGN {
					mark(e, 2)
				}
			}
			if isSlice(n.X) && n.Value != nil {
				around(n.X, "recordEach(", ")")
			}
			all = append(all, insertion{offset(n.Body.Lbrace) + 1, "recordRound();"})
		case *ast.ForStmt:
			all = append(all, insertion{offset(n.Body.Lbrace) + 1, "recordRound();"})
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var b strings.Builder
	last := 0
	for _, i := range all {
		b.WriteString(src[last:i.at] + i.text)
		last = i.at
	}
	return b.String() + src[last:]
}

// recorder is the part of a test program that records accesses, and compares them with footprints.
const recorder = `package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// use is what was recorded of an element: bits of modes, and 8 if it was read before it was written.
type use = uint8

var (
	mu    sync.Mutex
	uses  map[unsafe.Pointer][]use
	ticks int
	all   bool // threads run together: all of them have rounds
)

func record(p unsafe.Pointer, i, mode int) {
	mu.Lock()
	defer mu.Unlock()
	u := uses[p]
	if i < 0 || i >= len(u) {
		return // it panics next
	}
	if mode&1 != 0 && u[i]&2 == 0 {
		u[i] |= 8
	}
	if mode&4 != 0 && u[i]&2 == 0 {
		u[i] |= 8
	}
	u[i] |= use(mode) &^ 4
}

func recordAt[T any, I int | int32 | uint32 | int64 | uint8](s []T, i I, mode int) I {
	record(unsafe.Pointer(unsafe.SliceData(s)), int(i), mode)
	return i
}

type sized interface{ Rows() int; Cols() int }

func recordCell[M sized](m M, i, j, mode int) (int, int) {
	if i >= 0 && i < m.Rows() && j >= 0 && j < m.Cols() {
		record(*(*unsafe.Pointer)(unsafe.Pointer(&m)), i*m.Cols()+j, mode)
	}
	return i, j
}

func recordSet[M sized, T any](m M, i, j int, v T) (int, int, T) {
	recordCell(m, i, j, 2)
	return i, j, v
}

func recordEach[T any](s []T) []T {
	for i := range s {
		recordAt(s, i, 1)
	}
	return s
}

// recordRound ends a thread whose loops do not end.
func recordRound() {
	mu.Lock()
	ticks++
	stop := ticks > 3000 && !all
	mu.Unlock()
	if stop {
		panic("too many rounds")
	}
}

// array is an argument with elements.
type array struct {
	name string
	p    unsafe.Pointer
	n    int
	copy func() func() bool // keeps the elements; the result tells whether they are the same again, and puts back those that were kept
}

func arrayOf[T comparable](name string, s []T) array {
	return array{name, unsafe.Pointer(unsafe.SliceData(s)), len(s), func() func() bool {
		kept := slices.Clone(s)
		return func() bool {
			same := slices.EqualFunc(s, kept, func(a, b T) bool { return a == b || a != a && b != b }) // also NaNs
			copy(s, kept)
			return same
		}
	}}
}

// launch is a kernel with arguments.
type launch struct {
	what     string
	cut      [3]bool
	of       func(gridgen.Box, []int64, []gridgen.Touch)
	values   []int64
	arrays   []array
	thread   func(grid.Thread)
	together bool
	exact    bool // spans are as small as they can be
	wild     bool // numbers may leave int
}

func (l *launch) clear() {
	uses = map[unsafe.Pointer][]use{}
	for _, a := range l.arrays {
		uses[a.p] = make([]use, a.n)
	}
}

// run runs the threads of a box, and reports whether none panicked. The box is of whole blocks if they are together.
func (l *launch) run(box gridgen.Box, block, blocks [3]int) (ok bool) {
	ok, all = true, l.together
	one := func(t grid.Thread) {
		for d := range 3 {
			if t.Global(d) < box.Lo[d] || t.Global(d) >= box.Hi[d] {
				return
			}
		}
		ticks = 0
		if !l.together {
			defer func() {
				if recover() != nil {
					ok = false
				}
			}()
		}
		l.thread(t)
	}
	for z := range blocks[2] {
		for y := range blocks[1] {
			for x := range blocks[0] {
				in := [3]int{x, y, z}
				b := &kernel.Block{}
				inside := true
				for d := range 3 {
					b.Index[d], b.Size[d], b.Grid[d] = uint32(in[d]), uint32(block[d]), uint32(blocks[d])
					inside = inside && in[d]*block[d] < box.Hi[d] && (in[d]+1)*block[d] > box.Lo[d]
				}
				switch {
				case !inside:
				case l.together:
					grid.RunTogether(b, one)
				default:
					for t := range grid.Threads(b) {
						one(t)
					}
				}
			}
		}
	}
	return ok
}

var (
	violations int
	violators  = map[string]int{}
)

func (l *launch) violated(box gridgen.Box, format string, args ...any) {
	violations++
	if violators[l.what]++; violators[l.what] < 4 {
		fmt.Printf("VIOLATION %s, box %v, values %v: %s\n", l.what, box, l.values, fmt.Sprintf(format, args...))
	}
}

func in(s buffer.Range, i int) bool { return s.Lo <= i && i < s.Hi }

// check runs the threads of a box, and compares what they use with the footprint.
func (l *launch) check(box gridgen.Box, block, blocks [3]int) (touch []gridgen.Touch, seen map[unsafe.Pointer][]use, ok bool) {
	touch = make([]gridgen.Touch, len(l.arrays))
	for i := range touch {
		touch[i] = gridgen.Touch{Read: buffer.Range{-9, math.MaxInt}, Whole: true} // to be overwritten
	}
	l.of(box, l.values, touch)
	l.clear()
	ok = l.run(box, block, blocks)
	seen = uses
	for n, a := range l.arrays {
		t, least := touch[n], [2]buffer.Range{}
		for _, s := range []buffer.Range{t.Read, t.Write} {
			if s.Lo < 0 || s.Hi > a.n || s.Lo > s.Hi {
				l.violated(box, "%s: span %v of %d elements", a.name, s, a.n)
			}
		}
		for i, u := range seen[a.p] {
			for k, s := range []buffer.Range{t.Read, t.Write} {
				if u&(1<<k) == 0 {
					continue
				}
				if !in(s, i) {
					l.violated(box, "%s[%d] is used (%d), footprint %+v", a.name, i, u, t)
				}
				if least[k].Hi == 0 {
					least[k].Lo = i
				}
				least[k].Hi = i + 1
			}
			if t.Whole && ok && in(t.Write, i) && (u&2 == 0 || u&8 != 0) {
				l.violated(box, "%s[%d] is used (%d), and all of %v should be written first", a.name, i, u, t.Write)
			}
		}
		if l.exact && ok && [2]buffer.Range{t.Read, t.Write} != least {
			l.violated(box, "%s: footprint %+v, used are %v", a.name, t, least)
		}
	}
	return touch, seen, ok
}

// cuts checks that parts of a box can run apart.
func (l *launch) cuts(r *rand.Rand, box gridgen.Box, block, blocks [3]int) (tried int) {
	for d, can := range l.cut {
		if !can || box.Hi[d]-box.Lo[d] <= block[d] || l.wild {
			continue
		}
		mid := box.Lo[d] + block[d]*(1+r.IntN((box.Hi[d]-box.Lo[d])/block[d]-1))
		a, b := box, box
		a.Hi[d], b.Lo[d] = mid, mid
		var kept []func() bool
		for _, x := range l.arrays {
			kept = append(kept, x.copy())
		}
		back := func() (same bool) {
			same = true
			for _, k := range kept {
				same = k() && same
			}
			return same
		}
		if !l.run(box, block, blocks) {
			back()
			continue
		}
		tried++
		var after []func() bool
		for _, x := range l.arrays {
			after = append(after, x.copy())
		}
		back()
		touchB, seenB, _ := l.check(b, block, blocks)
		touchA, seenA, _ := l.check(a, block, blocks)
		for _, k := range after {
			if !k() {
				l.violated(box, "parts at %d in dimension %d give other elements", mid, d)
			}
		}
		back()
		for n, x := range l.arrays {
			for i := range x.n {
				u, v := seenA[x.p][i], seenB[x.p][i]
				if u&2 != 0 && v&3 != 0 || v&2 != 0 && u&3 != 0 {
					l.violated(box, "%s[%d] is used by both parts at %d in dimension %d", x.name, i, mid, d)
				}
			}
			p, q := touchA[n], touchB[n]
			for _, s := range [][2]buffer.Range{{p.Write, q.Write}, {p.Write, q.Read}, {p.Read, q.Write}} {
				if p.Write != (buffer.Range{}) && q.Write != (buffer.Range{}) && max(s[0].Lo, s[1].Lo) < min(s[0].Hi, s[1].Hi) {
					l.violated(box, "%s: footprints of parts at %d in dimension %d meet: %+v and %+v", x.name, mid, d, p, q)
				}
			}
		}
	}
	return tried
}

// boxIn returns a random box, of whole blocks if blocks are known.
func boxIn(r *rand.Rand, block, blocks [3]int, whole bool) (b gridgen.Box) {
	if r.IntN(2) == 0 {
		b.Blocks = blocks
	}
	for d := range 3 {
		n := blocks[d]
		if !whole {
			n *= block[d]
		}
		b.Lo[d] = r.IntN(n)
		b.Hi[d] = b.Lo[d] + 1 + r.IntN(n-b.Lo[d])
		switch r.IntN(20) {
		case 0:
			b.Hi[d] = b.Lo[d] // no threads
		case 1, 2, 3, 4, 5, 6:
			b.Lo[d], b.Hi[d] = 0, n
		}
		if whole {
			b.Block[d] = block[d]
			b.Lo[d], b.Hi[d] = b.Lo[d]*block[d], b.Hi[d]*block[d]
		}
	}
	return b
}

func end(kernels, boxes, cuts, whole int) {
	fmt.Printf("DONE %d kernels, %d boxes, %d cut, %d whole, %d violations\n", kernels, boxes, cuts, whole, violations)
	if violations > 0 {
		os.Exit(1)
	}
}
`
