package translate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// shrink makes a kernel smaller for as long as the result still differs. It passes many kernels to differs at once, each one step smaller than the
// current kernel. The smallest that differs becomes the current kernel.
func shrink(src string, differs func([]string) ([]bool, error)) (string, error) {
	imp, err := imports()
	if err != nil {
		return "", err
	}
	const most = 60     // kernels in one call of differs
	from, since := 0, 0 // the next step, and how many were tried since a kernel was made smaller
	for {
		smaller, next, end := reductions(imp, src, from, most)
		since += next - from
		from = next
		if end {
			from = 0
		}
		var which []bool
		if len(smaller) > 0 {
			if which, err = differs(smaller); err != nil {
				return src, err
			}
		}
		i := slices.Index(which, true) // they come smallest first
		if i >= 0 {
			src, since = smaller[i], 0
			continue
		}
		if end && since >= next { // no step is left that gives a kernel that differs
			return src, nil
		}
	}
}

// reductions returns kernels that are one step smaller than src and that Go and the translator accept, the smallest first. A step leaves out
// neighbouring statements, replaces a statement by its body, or replaces an expression by a constant or by a part of it. The first step is number
// from, and most limits the number of kernels. next is the number of the next step, and end reports that there are no more.
// Steps do not cause races: barriers are left out only together with all uses of shared memory, and a thread's place does not change.
// Conditions of loops do not change either, since a loop might not end. An index that is out of range fails on the host, which runs first.
func reductions(imp types.Importer, src string, from, most int) (all []string, next int, end bool) {
	seen := map[string]bool{}
	for next = from; len(all) < most; next++ {
		e := &editor{want: next}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "k.go", head+src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return all, next, true
		}
		e.info = check(fset, "p", []*ast.File{file}, imp).Info
		begin := fset.File(file.Pos()).Pos(len(head))
		var kept []ast.Decl
		for _, d := range file.Decls {
			if d.Pos() < begin {
				continue
			}
			if f, ok := d.(*ast.FuncDecl); ok {
				e.function(f)
			}
			kept = append(kept, d)
		}
		kept = e.declarations(kept)
		if e.want >= 0 {
			end = true // there is no step of that number
			break
		}
		var b bytes.Buffer
		for _, d := range kept {
			if err := format.Node(&b, fset, d); err != nil {
				b.Reset()
				break
			}
			b.WriteString("\n\n")
		}
		text := b.String()
		if weight(text) >= weight(src) || seen[text] || !fits(imp, head+text) {
			continue
		}
		seen[text] = true
		all = append(all, text)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	return all, next, end
}

// weight returns the size of a kernel. White space does not count, and a constant counts less than a
// variable.
func weight(src string) int {
	n := 0
	for _, r := range src {
		switch {
		case r == ' ' || r == '\t' || r == '\n':
		case r == '0' || r == '1':
			n++
		default:
			n += 2
		}
	}
	return n
}

// fits reports whether Go and the translator accept a text.
func fits(imp types.Importer, src string) bool {
	_, ok := inC(imp, src)
	return ok
}

// inC returns the translation of a text to C alone, and whether there is one.
func inC(imp types.Importer, src string) (c string, ok bool) {
	fset := token.NewFileSet()
	file, bad := load.Parse(fset, "k.go", []byte(src))
	if len(bad) > 0 {
		return "", false
	}
	p := check(fset, "p", []*ast.File{file}, imp)
	if len(p.Errors) > 0 {
		return "", false
	}
	program, _, err := p.built()
	if err != nil {
		return "", false
	}
	return cprint.Print(program, facts.NarrowOf(program)).C, true
}

// editor takes one of the possible steps.
type editor struct {
	info *types.Info
	want int // number of steps to skip; -1 once the step was taken
}

// now reports whether this is the step to take.
func (e *editor) now() bool {
	e.want--
	return e.want == -1
}

// declarations leaves out one function or type.
func (e *editor) declarations(list []ast.Decl) []ast.Decl {
	for i, d := range list {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "k0" {
			continue
		}
		if e.want >= 0 && e.now() {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}

func (e *editor) function(f *ast.FuncDecl) {
	f.Body.List = e.shared(f.Body.List)
	f.Body.List = e.list(f.Body.List)
}

// mentions reports whether a statement uses memory that threads share, or waits for them.
func (e *editor) mentions(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Barrier" || n.Sel.Name == "Shared"
		case *ast.Ident:
			if obj := e.info.Uses[n]; obj != nil {
				if p, ok := obj.Type().(*types.Pointer); ok {
					_, isArray := p.Elem().Underlying().(*types.Array)
					found = found || isArray
				}
				found = found || n.Name == "g" // the buffer through which threads of a block pass values
			}
		}
		return true
	})
	return found
}

// place reports whether an expression asks a thread for its place.
func (e *editor) place(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && e.info.Uses[id] != nil {
			found = found || load.GridType(e.info.Uses[id].Type(), "Thread")
		}
		return true
	})
	return found
}

// uses reports whether a statement uses one of the variables.
func (e *editor) uses(s ast.Stmt, vars []ast.Expr) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && e.info.Uses[id] != nil {
			found = found || slices.ContainsFunc(vars, func(v ast.Expr) bool {
				id2, ok := v.(*ast.Ident)
				return ok && e.info.Defs[id2] == e.info.Uses[id]
			})
		}
		return true
	})
	return found
}

// shared leaves out all statements that use shared memory or wait at a barrier, and those that use what they define.
func (e *editor) shared(list []ast.Stmt) []ast.Stmt {
	if !slices.ContainsFunc(list, func(s ast.Stmt) bool { return e.mentions(s) }) || !(e.want >= 0 && e.now()) {
		return list
	}
	var defined []ast.Expr
	return slices.DeleteFunc(list, func(s ast.Stmt) bool {
		if !e.mentions(s) && !e.uses(s, defined) {
			return false
		}
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			defined = append(defined, a.Lhs...)
		}
		return true
	})
}

// list takes a step in a list of statements, or in one of them.
func (e *editor) list(list []ast.Stmt) []ast.Stmt {
	for n := len(list); n >= 1; n /= 2 {
		for i := 0; i < len(list) && e.want >= 0; i += max(1, n/2) {
			part := list[i:min(i+n, len(list))]
			if slices.ContainsFunc(part, func(s ast.Stmt) bool { return e.mentions(s) }) {
				continue
			}
			if e.now() {
				return slices.Delete(list, i, i+len(part))
			}
		}
	}
	for i := 0; i < len(list) && e.want >= 0; i++ { // leaves out a variable with all statements that use it
		if s, ok := list[i].(*ast.AssignStmt); ok && s.Tok == token.DEFINE && !e.mentions(s) && e.now() {
			return slices.DeleteFunc(list, func(other ast.Stmt) bool { return other == s || !e.mentions(other) && e.uses(other, s.Lhs) })
		}
	}
	for i := 0; i < len(list) && e.want >= 0; i++ {
		if body := e.unwrap(list[i]); body != nil {
			return slices.Replace(list, i, i+1, body...)
		}
		e.statement(list[i])
	}
	return list
}

// unwrap returns statements that can replace a statement.
func (e *editor) unwrap(s ast.Stmt) []ast.Stmt {
	switch s := s.(type) {
	case *ast.IfStmt:
		if e.now() {
			return s.Body.List
		}
		if b, ok := s.Else.(*ast.BlockStmt); ok && e.want >= 0 && e.now() {
			return b.List
		}
	case *ast.ForStmt:
		if e.now() {
			return s.Body.List
		}
	case *ast.RangeStmt:
		if e.now() {
			return s.Body.List
		}
	case *ast.LabeledStmt:
		if e.now() {
			return []ast.Stmt{s.Stmt}
		}
		if e.want >= 0 {
			return e.unwrap(s.Stmt)
		}
	case *ast.SwitchStmt:
		for _, c := range s.Body.List {
			if e.want >= 0 && e.now() {
				return c.(*ast.CaseClause).Body
			}
		}
	}
	return nil
}

// statement takes a step inside a statement.
func (e *editor) statement(s ast.Stmt) {
	if e.want < 0 {
		return
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		s.List = e.list(s.List)
	case *ast.IfStmt:
		e.expr(&s.Cond)
		s.Body.List = e.list(s.Body.List)
		if s.Else != nil && e.want >= 0 && e.now() {
			s.Else = nil
		}
		if s.Else != nil {
			e.statement(s.Else)
		}
	case *ast.ForStmt:
		s.Body.List = e.list(s.Body.List)
	case *ast.RangeStmt:
		s.Body.List = e.list(s.Body.List)
	case *ast.LabeledStmt:
		e.statement(s.Stmt)
	case *ast.SwitchStmt:
		if s.Tag != nil {
			e.expr(&s.Tag)
		}
		for i := range s.Body.List {
			if e.want >= 0 && e.now() {
				s.Body.List = slices.Delete(s.Body.List, i, i+1)
				return
			}
		}
		for _, c := range s.Body.List {
			c := c.(*ast.CaseClause)
			for i := range c.List {
				if len(c.List) > 1 && e.want >= 0 && e.now() {
					c.List = slices.Delete(c.List, i, i+1)
					return
				}
			}
			c.Body = e.list(c.Body)
		}
	case *ast.AssignStmt:
		for i := range s.Rhs {
			if len(s.Lhs) == len(s.Rhs) {
				e.expr(&s.Rhs[i])
			} else if call, ok := s.Rhs[i].(*ast.CallExpr); ok {
				for j := range call.Args {
					e.expr(&call.Args[j])
				}
			}
		}
	case *ast.ReturnStmt:
		for i := range s.Results {
			e.expr(&s.Results[i])
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			for i := range call.Args {
				if i > 0 { // the first argument is the pointer of an atomic operation
					e.expr(&call.Args[i])
				}
			}
		}
	}
}

// expr replaces an expression by a smaller one, or takes a step inside it.
func (e *editor) expr(x *ast.Expr) {
	tv := e.info.Types[*x]
	if e.want < 0 || tv.Type == nil || tv.IsType() || tv.Value != nil || e.place(*x) {
		return
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); ok && !e.mentions(*x) {
		for _, c := range []string{"0", "1"} {
			if b.Info()&types.IsBoolean != 0 {
				c = map[string]string{"0": "false", "1": "true"}[c]
			}
			if e.want >= 0 && e.now() {
				*x = ast.NewIdent(c)
				if b.Info()&types.IsNumeric != 0 && b.Info()&types.IsUntyped == 0 {
					*x = ast.NewIdent(fmt.Sprintf("%s(%s)", b.Name(), c))
				}
				return
			}
		}
		for _, part := range parts(*x) {
			if t := e.info.TypeOf(part); t != nil && types.Identical(t, tv.Type) && e.want >= 0 && e.now() {
				*x = part
				return
			}
		}
	}
	switch n := (*x).(type) {
	case *ast.ParenExpr:
		e.expr(&n.X)
	case *ast.UnaryExpr:
		if n.Op != token.AND {
			e.expr(&n.X)
		}
	case *ast.BinaryExpr:
		e.expr(&n.X)
		e.expr(&n.Y)
	case *ast.CallExpr:
		for i := range n.Args {
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && i == 2 && (fn.Sel.Name == "Add64" || fn.Sel.Name == "Sub64") {
				break // a carry is 0 or 1
			}
			e.expr(&n.Args[i])
		}
	case *ast.IndexExpr:
		if !e.mentions(n.X) {
			e.expr(&n.Index)
		}
	case *ast.CompositeLit:
		for i := range n.Elts {
			if kv, ok := n.Elts[i].(*ast.KeyValueExpr); ok {
				e.expr(&kv.Value)
			} else {
				e.expr(&n.Elts[i])
			}
		}
	}
}

// parts returns the expressions inside an expression that could replace it.
func parts(x ast.Expr) (all []ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && e != x {
			all = append(all, e)
		}
		return true
	})
	return all
}

// shrunk returns the smallest kernel found that still differs, and its translation.
func (b *batch) shrunk(ctx context.Context, k text, devices []string) (string, string, error) {
	small, err := shrink(k.src, func(list []string) ([]bool, error) {
		kernels := make([]text, len(list))
		for i, src := range list {
			kernels[i] = text{k.seed, src}
		}
		all, err := b.run(ctx, kernels, devices)
		yes := make([]bool, len(list))
		for i := range all {
			yes[i] = all[i].differs != ""
		}
		return yes, err
	})
	if err != nil {
		return small, "", err
	}
	_, made, err := b.translate([]text{{k.seed, small}}, []int{0})
	if err != nil {
		return small, "", err
	}
	if b.plant != nil {
		return small, b.plant(made.C), nil
	}
	return small, made.C, nil
}

// withoutShiftMeaning gives shifts of 32 bits the meaning that devices have for them.
func withoutShiftMeaning(c string) string {
	return strings.NewReplacer("FUNCTION i32 go_shl_i32(i32 x, u64 n) { return n < 32 ? ", "FUNCTION i32 go_shl_i32(i32 x, u64 n) { return 1 ? ",
		"FUNCTION u32 go_shl_u32(u32 x, u64 n) { return n < 32 ? ", "FUNCTION u32 go_shl_u32(u32 x, u64 n) { return 1 ? ").Replace(c)
}

// A kernel that shows a mistake is made so small that little but the mistake is left. Here the text of the translation shows whether it has the
// mistake, so no device is needed.
func TestShrinkingLeavesTheMistake(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	shifts := func(src string) bool {
		c, ok := inC(imp, head+src)
		return ok && withoutShiftMeaning(c) != c
	}
	tried := 0
	for seed := uint64(1); tried < 1; seed++ {
		src := random(seed, 0)
		if len(src) > 1200 || !shifts(src) { // a short one, which takes fewer steps
			continue
		}
		tried++
		small, err := shrink(src, func(list []string) (yes []bool, err error) {
			for _, s := range list {
				yes = append(yes, shifts(s))
			}
			return yes, nil
		})
		require.NoError(t, err)
		assert.True(t, shifts(small), small)
		assert.Less(t, len(small), 450, "seed %d: %s", seed, small)
		t.Logf("seed %d: %d bytes became\n%s", seed, len(src), small)
	}
}
