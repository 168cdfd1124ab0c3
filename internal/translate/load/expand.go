package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// This file inlines functions with barriers into the kernels that call them. Afterwards each barrier is a statement of a kernel. Package build and the loops
// for the host rely on that. Operations of blocks and groups are such functions, and block.go has what they become.
//
// The file writes text, parses it, and checks the package again. Comments /*line FILE:LINE:COLUMN*/ give each part of the text the position that it has for
// its author. What an inlined function declares gets a name that the kernel does not use. A parameter that is a number or a structure becomes a variable. A
// parameter that is a grid.Thread, a slice, a matrix or a pointer is replaced by the argument.

// Expanded returns the package with its functions with barriers inlined into its kernels. The map texts has the texts of the files, by name.
func (p *Package) Expanded(texts map[string][]byte, imports types.Importer) *Package {
	x := &expander{p: p, texts: texts, decls: p.Declared(), waiting: map[*types.Func]bool{}}
	files := slices.Clone(p.Files)
	for i, file := range p.Files {
		var edits []edit
		x.imports = map[*types.Package]string{}
		for _, decl := range p.Kernels() {
			if file.FileStart <= decl.Pos() && decl.Pos() < file.FileEnd {
				edits = append(edits, x.kernel(decl)...)
			}
		}
		if len(edits) == 0 {
			continue
		}
		for q, name := range x.imports {
			edits = append(edits, edit{file.Name.End(), file.Name.End(), fmt.Sprintf("; import %s %q", name, q.Path())})
		}
		tree, bad := Parse(p.Fset, p.Fset.File(file.Pos()).Name(), []byte((&copied{x: x}).cut(file.FileStart, file.FileEnd, edits)))
		if p.Refused = append(p.Refused, bad...); len(bad) == 0 {
			files[i] = tree
		}
	}
	if slices.Equal(files, p.Files) {
		return p
	}
	now := Check(p.Fset, p.Types.Path(), files, imports)
	now.Dir, now.constrained, now.others, now.Refused, now.written = p.Dir, p.constrained, p.others, p.Refused, p
	return now
}

// Written returns the package as its author wrote it.
func (p *Package) Written() *Package {
	if p.written == nil {
		return p
	}
	return p.written
}

// expander inlines functions into kernels.
type expander struct {
	p       *Package
	texts   map[string][]byte
	decls   map[*types.Func]*ast.FuncDecl
	waiting map[*types.Func]bool      // whether a function, or one that it calls, has barriers
	imports map[*types.Package]string // packages that the text of the kernel's file imports in addition, with their names

	// for one kernel
	decl  *ast.FuncDecl
	names map[string]bool // the names in it
	calls []*ast.CallExpr // the calls that are being inlined: each is in the function of the one before
	count int             // of inlined calls
	shares
	tiles
}

// mostCalls is how many calls are inlined into a kernel at most.
const mostCalls = 500

func (x *expander) refuse(pos token.Pos, format string, args ...any) {
	if e := *x.p.ErrorAt(pos, format, args...); !slices.Contains(x.p.Refused, e) {
		x.p.Refused = append(x.p.Refused, e)
	}
}

// waits reports whether the function or the method that a call names, or one that it calls, has barriers.
func (x *expander) waits(c *ast.CallExpr) bool {
	if op, _ := x.p.operation(c); op != "" {
		return true
	}
	f := x.p.called(c)
	if f == nil {
		return false
	}
	f = f.Origin()
	found, known := x.waiting[f]
	if decl := x.decls[f]; !known && decl != nil && decl.Body != nil {
		x.waiting[f] = false // for functions that call each other
		found = x.barriers(decl)
		x.waiting[f] = found
	}
	return found
}

// barriers reports whether a function has barriers, or calls a function that has.
func (x *expander) barriers(decl *ast.FuncDecl) bool {
	return has(decl, func(c *ast.CallExpr) bool { return x.p.Calls(c, "Barrier") || x.waits(c) })
}

// has reports whether a function has a call for which fits returns true.
func has(decl *ast.FuncDecl, fits func(*ast.CallExpr) bool) (found bool) {
	ast.Inspect(decl, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && fits(c)
		return !found
	})
	return found
}

// called returns the function or the method that a call names, or nil.
func (p *Package) called(c *ast.CallExpr) *types.Func {
	id, _ := Callee(ast.Unparen(c.Fun))
	f, _ := p.Info.Uses[id].(*types.Func)
	return f
}

// call returns the call in a statement such as f(), x = f(), var x = f() or return f(), if its function has barriers.
func (x *expander) call(s ast.Stmt) *ast.CallExpr {
	var e []ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		e = []ast.Expr{s.X}
	case *ast.AssignStmt:
		e = s.Rhs
	case *ast.ReturnStmt:
		e = s.Results
	case *ast.DeclStmt:
		if g := s.Decl.(*ast.GenDecl); g.Tok == token.VAR && len(g.Specs) == 1 {
			e = g.Specs[0].(*ast.ValueSpec).Values
		}
	}
	if len(e) == 1 {
		if c, ok := ast.Unparen(e[0]).(*ast.CallExpr); ok && x.waits(c) {
			return c
		}
	}
	return nil
}

// kernel returns the edits of a kernel.
func (x *expander) kernel(decl *ast.FuncDecl) []edit {
	lanes := has(decl, func(c *ast.CallExpr) bool { return x.p.Calls(c, "GroupLane") })
	if decl.Body == nil || !x.barriers(decl) && !lanes || x.wrong(decl) {
		return nil
	}
	x.decl, x.names, x.count, x.shares = decl, map[string]bool{}, 0, shares{memory: map[string]string{}, read: map[string]bool{}}
	ast.Inspect(decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			x.names[id.Name] = true
		}
		return true
	})
	from, refused := &copied{x: x, decl: decl}, len(x.p.Refused)
	edits := x.list(from, decl.Body.List)
	if len(x.p.Refused) > refused && len(x.shares.texts) > 0 {
		return nil // the declarations could be unused, which would be one more error
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		edits = append(edits, x.lane(from, n)...)
		return true
	})
	return append(x.begin(decl), edits...)
}

// wrong reports whether a function has an error of the compiler.
func (x *expander) wrong(decl *ast.FuncDecl) bool {
	return slices.ContainsFunc(x.p.Errors, func(e types.Error) bool { return decl.Pos() <= e.Pos && e.Pos < decl.End() })
}

// list returns the edits of a list of statements.
func (x *expander) list(from *copied, list []ast.Stmt) (edits []edit) {
	for i, s := range list {
		if l, ok := s.(*ast.LabeledStmt); ok {
			s = l.Stmt
		}
		c, all := x.call(s), bodies(s)
		x.noCalls(s, c, all)
		loop, _ := s.(*ast.IfStmt)
		if loop == nil {
			x.shares.loops++
		}
		for _, body := range all {
			edits = append(edits, x.list(from, body.List)...)
		}
		if loop == nil {
			x.shares.loops--
		}
		if c != nil {
			now := x.loads(s)
			x.tiles = tiles{now && i > 0 && x.loads(list[i-1]), now && i+1 < len(list) && x.loads(list[i+1])}
			edits = append(edits, x.statement(from, s, c)...)
		}
	}
	return edits
}

// bodies returns the blocks of a loop, or of an if with its elses.
func bodies(s ast.Stmt) []*ast.BlockStmt {
	switch s := s.(type) {
	case *ast.ForStmt:
		return []*ast.BlockStmt{s.Body}
	case *ast.RangeStmt:
		return []*ast.BlockStmt{s.Body}
	case *ast.IfStmt:
		all := []*ast.BlockStmt{s.Body}
		if b, ok := s.Else.(*ast.BlockStmt); ok {
			return append(all, b)
		}
		return append(all, bodies(s.Else)...)
	}
	return nil
}

// noCalls refuses the calls of functions with barriers in a statement, except for the call that is passed, and for calls in the blocks of a loop or an if.
func (x *expander) noCalls(s ast.Stmt, except *ast.CallExpr, bodies []*ast.BlockStmt) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt: // package build refuses these
			return false
		case *ast.BlockStmt:
			return !slices.Contains(bodies, n)
		case ast.Stmt:
			if c := x.call(n); c != nil && n != s && bodies == nil {
				x.refuse(c.Pos(), "%s has a barrier, to which all threads of the block must come, so its call must be a statement of the kernel itself, or of a loop or an if that all threads run alike; "+
					"write it outside of the statement that begins in line %d, and only the other statements inside", x.p.called(c).Name(), x.p.Fset.Position(s.Pos()).Line)
				return false
			}
		case *ast.CallExpr:
			if n != except && x.waits(n) {
				x.refuse(n.Pos(), "%s has a barrier, so its call must be a statement of its own, such as v := %[1]s(..)", x.p.called(n).Name())
				return false
			}
		}
		return true
	})
}

// statement returns the edit that replaces a statement by the inlined function that it calls.
func (x *expander) statement(from *copied, s ast.Stmt, c *ast.CallExpr) []edit {
	text, results, ok := x.inlined(from, c)
	if !ok {
		return nil
	}
	if _, alone := s.(*ast.ExprStmt); !alone {
		return []edit{{s.Pos(), s.End(), text + "\n" + endMark + "\n" + from.cut(s.Pos(), s.End(), []edit{{c.Pos(), c.End(), results}})}}
	}
	if n := x.p.called(c).Signature().Results().Len(); n > 0 {
		text += "\n" + from.at(c.Pos()) + strings.Repeat("_, ", n-1) + "_ = " + results
	}
	return []edit{{s.Pos(), s.End(), text + endMark}}
}

// inlined returns the statements of the function that a call names, and the text of its results. If the function is refused, or package build will refuse it,
// ok is false.
func (x *expander) inlined(from *copied, c *ast.CallExpr) (text, results string, ok bool) {
	if op, _ := x.p.operation(c); op != "" {
		return x.combined(from, c)
	}
	f := x.p.called(c).Origin()
	decl, sig := x.decls[f], f.Signature()
	again := slices.ContainsFunc(x.calls, func(c *ast.CallExpr) bool { return x.p.called(c).Origin() == f })
	several := len(c.Args) != sig.Params().Len() // also a method expression
	shares := has(decl, func(c *ast.CallExpr) bool { return x.p.Calls(c, "Shared") || x.p.Calls(c, "SharedSlice") })
	if again || several || shares || sig.Variadic() || slices.Contains(x.p.Kernels(), decl) || x.wrong(decl) || x.p.Constrained(decl.Pos()) {
		return "", "", false
	}
	x.calls = append(x.calls, c)
	defer func() { x.calls = x.calls[:len(x.calls)-1] }()
	if x.count++; x.count > mostCalls {
		x.refuse(x.calls[0].Pos(), "the calls of functions with barriers in this kernel come to more than %d; call them in a loop", mostCalls)
		return "", "", false
	}
	refused := len(x.p.Refused)
	into := &copied{x: x, decl: decl, instead: map[types.Object]string{}, names: map[string]string{}}
	list := decl.Body.List
	last, _ := list[len(list)-1].(*ast.ReturnStmt)
	if last != nil {
		list = list[:len(list)-1]
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && r != last {
			x.refuse(r.Pos(), "%s has a barrier, so it can only return at its end; put the statements that are left out here into an if, and the barriers outside of it", f.Name())
		}
		return true
	})
	sel, _ := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if s := x.p.Info.Selections[sel]; s != nil && len(s.Index()) > 1 { // a name in the method may be one of the outer structure, too
		x.refuse(c.Pos(), "%s has a barrier, so write the embedded field in its call, as in x.inner.%[1]s(..)", f.Name())
	}
	x.hidden(decl)
	x.typeArguments(from, into, c)
	text = callMark + x.p.Line(c.Pos()) + "*/\n" + x.parameters(from, into, c) + x.resultVariables(into, last, from.at(c.Pos()))
	if len(list) > 0 {
		text += into.cut(list[0].Pos(), list[len(list)-1].End(), x.list(into, list)) + "\n"
	}
	if last != nil {
		inner := x.call(last)
		if x.noCalls(last, inner, nil); inner != nil {
			var more string
			if more, results, ok = x.inlined(into, inner); !ok {
				return "", "", false
			}
			text += more + endMark
			results = x.passedOn(into, inner, results, sig)
		} else {
			results = into.results(last, sig)
		}
	}
	return strings.TrimSuffix(text, "\n"), results, len(x.p.Refused) == refused
}

// passedOn returns the results of an inlined call as results of a function that returns them, which may have other types.
func (x *expander) passedOn(into *copied, inner *ast.CallExpr, results string, sig *types.Signature) string {
	have := x.p.Info.TypeOf(inner.Fun).(*types.Signature).Results()
	for i := range sig.Results().Len() {
		want := sig.Results().At(i).Type()
		if types.Identical(want, have.At(i).Type()) {
			continue
		}
		if have.Len() > 1 {
			x.refuse(inner.Pos(), "this call has a barrier, so its results must have the types of those that are returned; assign them to variables first")
			break
		}
		results = into.typeName(want) + "(" + results + ")"
	}
	return results
}

// results returns the text of the results of a return statement.
func (c *copied) results(s *ast.ReturnStmt, sig *types.Signature) string {
	var all []string
	for i := range sig.Results().Len() {
		switch v := sig.Results().At(i); len(s.Results) {
		case 0:
			all = append(all, c.names[v.Name()])
		case sig.Results().Len():
			all = append(all, c.as(v.Type(), c.typeName(v.Type()), s.Results[i]))
		default: // a call that returns them all
			return c.cut(s.Results[0].Pos(), s.Results[0].End(), nil)
		}
	}
	return strings.Join(all, ", ")
}

// hidden refuses names of the package or of Go that mean something else where the kernel calls the function that uses them.
func (x *expander) hidden(decl *ast.FuncDecl) {
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, look)
			return false
		case *ast.Ident:
			obj := x.p.Info.Uses[n]
			if _, imported := obj.(*types.PkgName); obj == nil || obj.Parent() == nil || imported || x.p.local(obj) || x.there(n.Name) == obj {
				break
			}
			x.refuse(x.calls[0].Pos(), "%s uses the name %s in %s, which means something else here; rename what is here", decl.Name.Name, n.Name, x.p.Line(n.Pos()))
		}
		return true
	}
	if decl.Type.Results != nil {
		ast.Inspect(decl.Type.Results, look)
	}
	ast.Inspect(decl.Body, look)
}

// local reports whether a function declares an object. An object without a scope is a field or a method.
func (p *Package) local(obj types.Object) bool {
	_, imported := obj.(*types.PkgName)
	return obj.Pkg() == p.Types && obj.Parent() != p.Types.Scope() && obj.Parent() != nil && !imported
}

// fresh returns a name that means nothing in the kernel.
func (x *expander) fresh(name string) string {
	for x.names[name] || x.there(name) != nil {
		name += "_"
	}
	x.names[name] = true
	return name
}

// there returns what a name means in the kernel, where the first call is.
func (x *expander) there(name string) types.Object {
	at := x.calls[0].Pos()
	_, obj := x.p.Types.Scope().Innermost(at).LookupParent(name, at)
	return obj
}

// imported returns the name of another package in the kernel. If the package has another name there, or none, the file will import it once more.
func (x *expander) imported(q *types.Package, name string) string {
	if as, ok := x.there(name).(*types.PkgName); ok && as.Imported() == q {
		return name
	}
	if x.imports[q] == "" {
		x.imports[q] = x.fresh(name)
	}
	return x.imports[q]
}

// uses returns how often a function names a variable, and how often only to assign to it.
func (x *expander) uses(decl *ast.FuncDecl, v types.Object) (all, assigned int) {
	is := func(e ast.Expr) int {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && x.p.Info.Uses[id] == v {
			return 1
		}
		return 0
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			all += is(n)
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				assigned += is(l)
			}
		case *ast.IncDecStmt:
			assigned += is(n.X)
		}
		return true
	})
	return all, assigned
}

// typeArguments notes the texts that replace the type parameters of a function.
func (x *expander) typeArguments(from, into *copied, c *ast.CallExpr) {
	id, _ := Callee(ast.Unparen(c.Fun))
	f := x.p.called(c)
	params, args := f.Origin().Signature().TypeParams(), x.p.Info.Instances[id].TypeArgs
	if n := receiver(f); n != nil {
		params, args = f.Origin().Signature().RecvTypeParams(), n.TypeArgs()
	}
	for i := range params.Len() {
		into.instead[params.At(i).Obj()] = from.typeName(args.At(i))
	}
}

// parameters returns the declarations of the parameters that are variables, and notes the texts that replace the others.
func (x *expander) parameters(from, into *copied, c *ast.CallExpr) (text string) {
	f, sig := x.p.called(c).Origin(), x.p.Info.TypeOf(c.Fun).(*types.Signature)
	vars, args := slices.Collect(f.Signature().Params().Variables()), c.Args
	if recv := f.Signature().Recv(); recv != nil {
		vars, args = append([]*types.Var{recv}, vars...), append([]ast.Expr{ast.Unparen(c.Fun).(*ast.SelectorExpr).X}, args...)
	}
	for i, v := range vars {
		all, assigned := x.uses(into.decl, v)
		given := x.p.Info.TypeOf(args[i]) // the parameter's type, with the type arguments of the call
		if k := i - len(args) + sig.Params().Len(); k >= 0 {
			given = sig.Params().At(k).Type()
		}
		if replaced(v.Type()) {
			if assigned > 0 {
				x.refuse(v.Pos(), "%s has a barrier, so it cannot change the parameter %s", f.Name(), v.Name())
			}
			if !types.Identical(x.p.Info.TypeOf(args[i]), given) {
				x.refuse(args[i].Pos(), "%s has a barrier, so this argument must have the type of the parameter, %s; declare one of them with the other's type",
					f.Name(), types.TypeString(given, types.RelativeTo(x.p.Types)))
			}
			into.instead[v] = x.argument(from, args[i], v.Type(), f.Name())
			if all == 0 {
				text += x.used(into.instead[v])
			}
			continue
		}
		value := from.as(given, from.typeName(given), args[i])
		if isPointer(x.p.Info.TypeOf(args[i])) { // the receiver of a method
			value = "*" + value
		}
		text += from.at(args[i].Pos())
		if all == 0 {
			text += "_ = " + value + "\n"
		} else {
			name := into.named(v.Name(), v)
			text += name + " := " + value + "\n" + use(name, all, assigned)
		}
	}
	return text
}

// used returns a statement that uses the variable in the text of an argument. It is needed if the function does not use the parameter that the argument
// replaces, because Go refuses an unused variable.
func (x *expander) used(text string) string {
	name, _, _ := strings.Cut(strings.Trim(text, "(&)"), ".")
	if v := x.there(name); v != nil && v.Pos() < x.decl.Body.Pos() {
		return "" // a parameter
	}
	return "_ = " + name + "\n"
}

// use returns a statement that uses a variable, if all other statements only assign to it: Go refuses such a variable.
func use(name string, all, assigned int) string {
	if all > assigned {
		return ""
	}
	return "_ = " + name + "\n"
}

// resultVariables returns the declarations of the results that have names, if the function uses the names.
func (x *expander) resultVariables(into *copied, last *ast.ReturnStmt, at string) (text string) {
	if into.decl.Type.Results == nil {
		return ""
	}
	for _, field := range into.decl.Type.Results.List {
		for _, id := range field.Names {
			all, assigned := x.uses(into.decl, x.p.Info.Defs[id])
			if last != nil && last.Results == nil {
				all++
			}
			if all > 0 {
				name := into.named(id.Name, x.p.Info.Defs[id])
				text += fmt.Sprintf("%svar %s %s\n", at, name, into.cut(field.Type.Pos(), field.Type.End(), nil)) + use(name, all, assigned)
			}
		}
	}
	return text
}

// replaced reports whether a parameter is replaced by the argument.
func replaced(t types.Type) bool {
	_, slice := t.Underlying().(*types.Slice)
	return slice || isPointer(t) || GridType(t, "Thread") || MatrixOf(t) != nil
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// argument returns the text that replaces a parameter. It must mean the same wherever the function uses the parameter.
func (x *expander) argument(from *copied, arg ast.Expr, t types.Type, function string) string {
	at := ast.Unparen(arg)
	u, take := at.(*ast.UnaryExpr)
	if take = take && u.Op == token.AND; take {
		at = u.X
	} else {
		take = isPointer(t) && !isPointer(x.p.Info.TypeOf(arg)) // the receiver of a method
	}
	text, ok := from.path(at, take)
	if !ok {
		x.refuse(arg.Pos(), "%s has a barrier, so this argument must be a variable or a parameter, or the address of one; pass it as a whole, and the index of a part besides", function)
	}
	if take {
		return "(&" + text + ")"
	}
	return text
}

// copied is a function whose statements are inlined into a kernel; or a kernel, which keeps its names.
type copied struct {
	x       *expander
	decl    *ast.FuncDecl
	instead map[types.Object]string // what replaces parameters
	names   map[string]string       // the names in the kernel of what it declares; nil for a kernel
}

// edit replaces the text between two positions.
type edit struct {
	from, to token.Pos
	text     string
}

// named returns the text that replaces a name of an object.
func (c *copied) named(name string, obj types.Object) string {
	if text, ok := c.instead[obj]; ok {
		return text
	}
	if c.names == nil || name == "_" {
		return name
	}
	if q, ok := obj.(*types.PkgName); ok {
		return c.x.imported(q.Imported(), name)
	}
	if obj != nil && !c.x.p.local(obj) { // the variable of a type switch has no object
		return name
	}
	return c.renamed(name)
}

// renamed returns the name in the kernel of what the function declares.
func (c *copied) renamed(name string) string {
	if c.names[name] == "" {
		c.names[name] = c.x.fresh(name)
	}
	return c.names[name]
}

// path returns the text of a variable or, if fields is set, of a field of one.
func (c *copied) path(e ast.Expr, fields bool) (string, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return c.named(e.Name, c.x.p.Info.ObjectOf(e)), true
	case *ast.SelectorExpr:
		text, ok := c.path(e.X, fields)
		return text + "." + e.Sel.Name, ok && fields
	}
	return "", false
}

// at returns a comment that gives the text behind it a position.
func (c *copied) at(pos token.Pos) string {
	at := c.x.p.Fset.Position(pos)
	if at.Offset == 0 {
		return "" // before the comment that may say which builds have the file
	}
	return fmt.Sprintf("/*line %s:%d:%d*/", filepath.Base(at.Filename), at.Line, at.Column)
}

// cut returns the text between two positions, with edits, and with the names that it has in the kernel.
func (c *copied) cut(from, to token.Pos, edits []edit) string {
	edits = slices.Clone(edits)
	if c.decl != nil {
		ast.Inspect(c.decl, func(n ast.Node) bool {
			if n == nil || n.End() <= from || to <= n.Pos() {
				return false
			}
			if from <= n.Pos() && n.End() <= to {
				if lane := c.x.lane(c, n); lane != nil {
					edits = append(edits, lane...)
					return false
				}
			}
			if c.names == nil {
				return true
			}
			star, _ := n.(*ast.StarExpr)
			if star != nil { // if &x replaces p, then *p becomes x
				n = ast.Unparen(star.X)
			}
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			text := c.named(id.Name, c.x.p.Info.ObjectOf(id))
			switch of, address := strings.CutPrefix(text, "(&"); {
			case star != nil && address:
				edits = append(edits, edit{star.Pos(), star.End(), "(" + of})
			case text != id.Name:
				edits = append(edits, edit{id.Pos(), id.End(), text})
			}
			return false
		})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.from - b.from) })
	file := c.x.p.Fset.File(from)
	text := c.x.texts[file.Name()]
	var b strings.Builder
	for _, e := range append(edits, edit{to, to, ""}) {
		if e.from >= from { // otherwise it is inside of another edit
			b.WriteString(c.at(from) + string(text[file.Offset(from):file.Offset(e.from)]) + e.text)
			from = e.to
		}
	}
	return b.String()
}

// as returns the text of an expression that becomes a variable of a type, whose name in the kernel is in to.
func (c *copied) as(t types.Type, to string, e ast.Expr) string {
	text := c.cut(e.Pos(), e.End(), nil)
	untyped := c.x.p.Info.Types[e].Value != nil // the bits that a shift keeps may depend on the type
	ast.Inspect(e, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		untyped = untyped || ok && b.Op == token.SHL
		return !untyped
	})
	b, basic := t.Underlying().(*types.Basic)
	untyped = untyped || basic && b.Kind() == types.Bool && b != types.Unalias(t) // a comparison
	_, open := types.Unalias(t).(*types.TypeParam)
	return converted(text, to, untyped && (basic || open) || !types.Identical(t, c.x.p.Info.TypeOf(e)))
}

// converted returns the text of a value. If other is set, the value has another type than the one with the name to, and
// the text converts it.
func converted(text, to string, other bool) string {
	if other {
		return to + "(" + text + ")"
	}
	return text
}

// typeName returns the name that a type of a function has in the kernel.
func (c *copied) typeName(t types.Type) string {
	list := func(n int, one func(i int) string, between string) string {
		var all []string
		for i := range n {
			all = append(all, one(i))
		}
		return strings.Join(all, between)
	}
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		if text, ok := c.instead[t.Obj()]; ok {
			return text
		}
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), c.typeName(t.Elem()))
	case *types.Slice:
		return "[]" + c.typeName(t.Elem())
	case *types.Pointer:
		return "*" + c.typeName(t.Elem())
	case *types.Struct:
		return "struct{" + list(t.NumFields(), func(i int) string {
			f := t.Field(i)
			if f.Embedded() {
				return c.typeName(f.Type())
			}
			return f.Name() + " " + c.typeName(f.Type())
		}, "; ") + "}"
	case *types.Named:
		name := t.Obj().Name()
		if q := t.Obj().Pkg(); q != nil && q != c.x.p.Types {
			name = c.x.imported(q, q.Name()) + "." + name
		} else if c.names != nil && c.x.p.local(t.Obj()) {
			name = c.renamed(name)
		}
		if args := t.TypeArgs(); args.Len() > 0 {
			name += "[" + list(args.Len(), func(i int) string { return c.typeName(args.At(i)) }, ", ") + "]"
		}
		return name
	}
	return types.TypeString(types.Unalias(t), nil)
}

// callMark and blockMark begin the comment before the statements of an inlined function and of an operation, and endMark is the comment behind them. hostMark
// begins the comment before a loop that the host does not run, with what it runs instead.
const (
	callMark  = "/*halyard:call "
	blockMark = "/*halyard:block "
	hostMark  = "/*halyard:host "
	endMark   = "/*halyard:end*/"
)

// Position reports whether this file wrote a comment, and not the author.
func Position(c *ast.Comment) bool {
	return strings.HasPrefix(c.Text, "/*line ") || strings.HasPrefix(c.Text, "/*halyard:")
}

// caller returns, for a position in an inlined function, the line of the call, and for a position in the statements of an operation the operation's name.
// Otherwise they are "".
func (p *Package) caller(pos token.Pos) (call, operation string) {
	calls := [][2]string{{}}
	for _, file := range p.Files {
		if p.written == nil || pos < file.FileStart || pos >= file.FileEnd {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				last := calls[len(calls)-1]
				if call, ok := strings.CutPrefix(c.Text, callMark); ok && c.Pos() <= pos {
					calls = append(calls, [2]string{strings.TrimSuffix(call, "*/"), last[1]})
				} else if name, ok := strings.CutPrefix(c.Text, blockMark); ok && c.Pos() <= pos {
					calls = append(calls, [2]string{last[0], strings.TrimSuffix(name, "*/")})
				} else if c.Text == endMark && c.Pos() <= pos && len(calls) > 1 {
					calls = calls[:len(calls)-1]
				}
			}
		}
	}
	last := calls[len(calls)-1]
	return last[0], last[1]
}
