package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// This file writes the statements of functions with barriers where kernels call them. So a barrier is always a statement of a kernel, for all that reads the
// kernel afterwards: the representation, and the loops for the host, which are cut at the barriers.
//
// It writes text, with comments /*line FILE:LINE:COLUMN*/ that give each part the position that it has for its author, and the package is checked again. What a
// function declares gets a name that the kernel does not use. A parameter that is a number or a structure becomes a variable; a grid.Thread, a slice, a matrix or
// a pointer is replaced by the argument.

// Expanded returns the package with the statements of functions with barriers in the kernels that call them. The map texts has the texts of the files, by name.
func (p *Package) Expanded(texts map[string][]byte, imports types.Importer) *Package {
	x := &expander{p: p, texts: texts, decls: map[*types.Func]*ast.FuncDecl{}, waiting: map[*types.Func]bool{}}
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
				if f, ok := p.Info.Defs[decl.Name].(*types.Func); ok {
					x.decls[f] = decl
				}
			}
		}
	}
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
		text := (&copied{x: x, text: x.text(file.Pos())}).cut(file.FileStart, file.FileEnd, edits)
		tree, bad := Parse(p.Fset, p.Fset.File(file.Pos()).Name(), []byte(text))
		if len(bad) > 0 {
			x.refused = append(x.refused, bad...)
			continue
		}
		files[i] = tree
	}
	p.Refused = x.refused
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

// expander writes functions into kernels.
type expander struct {
	p       *Package
	texts   map[string][]byte
	decls   map[*types.Func]*ast.FuncDecl
	waiting map[*types.Func]bool // whether a function, or one that it calls, has barriers
	refused []Error
	imports map[*types.Package]string // the packages that the kernel's file will import besides, and their names

	// of the kernel that is written
	decl  *ast.FuncDecl
	names map[string]bool // the names in it
	calls []*ast.CallExpr // the calls around the statements that are being written
	busy  []*types.Func   // and their functions
	count int             // of functions that are written
}

// mostCalls is how many functions are written into a kernel at most.
const mostCalls = 500

func (x *expander) text(pos token.Pos) string { return string(x.texts[x.p.Fset.File(pos).Name()]) }

// refuse notes an error, and returns no edits.
func (x *expander) refuse(pos token.Pos, format string, args ...any) []edit {
	if e := *x.p.ErrorAt(pos, format, args...); !slices.Contains(x.refused, e) {
		x.refused = append(x.refused, e)
	}
	return nil
}

// waits reports whether a function, or one that it calls, has barriers.
func (x *expander) waits(f *types.Func) bool {
	f = f.Origin()
	decl := x.decls[f]
	found, known := x.waiting[f]
	if known || decl == nil {
		return found
	}
	x.waiting[f] = false // for functions that call each other
	x.waiting[f] = x.p.waitsIn(decl.Body, x.waits)
	return x.waiting[f]
}

// waitsIn reports whether there is a barrier in a node, or a call of a function for which waits returns true.
func (p *Package) waitsIn(n ast.Node, waits func(*types.Func) bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			f := p.called(c)
			found = found || p.Calls(c, "Barrier") || f != nil && waits(f)
		}
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
		if g := s.Decl.(*ast.GenDecl); len(g.Specs) == 1 {
			if v, ok := g.Specs[0].(*ast.ValueSpec); ok {
				e = v.Values
			}
		}
	}
	if len(e) != 1 {
		return nil
	}
	if c, ok := ast.Unparen(e[0]).(*ast.CallExpr); ok && x.p.called(c) != nil && x.waits(x.p.called(c)) {
		return c
	}
	return nil
}

// kernel returns the edits of a kernel.
func (x *expander) kernel(decl *ast.FuncDecl) []edit {
	if decl.Body == nil || !x.p.waitsIn(decl.Body, x.waits) || x.wrong(decl) {
		return nil
	}
	x.decl, x.names, x.calls, x.busy, x.count = decl, map[string]bool{}, nil, nil, 0
	ast.Inspect(decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			x.names[id.Name] = true
		}
		return true
	})
	return x.list(&copied{x: x, text: x.text(decl.Pos())}, decl.Body.List)
}

// wrong reports whether a function has an error of the compiler.
func (x *expander) wrong(decl *ast.FuncDecl) bool {
	return slices.ContainsFunc(x.p.Errors, func(e types.Error) bool { return decl.Pos() <= e.Pos && e.Pos < decl.End() })
}

// list returns the edits of a list of statements.
func (x *expander) list(from *copied, list []ast.Stmt) (edits []edit) {
	for _, s := range list {
		if l, ok := s.(*ast.LabeledStmt); ok {
			s = l.Stmt
		}
		switch s := s.(type) {
		case *ast.ForStmt:
			x.noCalls(s, s.Init, s.Cond, s.Post)
			edits = append(edits, x.list(from, s.Body.List)...)
		case *ast.RangeStmt:
			x.noCalls(s, s.X)
			edits = append(edits, x.list(from, s.Body.List)...)
		default:
			if c := x.call(s); c != nil {
				x.noCalls(s, expressions(c.Args)...)
				edits = append(edits, x.statement(from, s, c)...)
			} else {
				x.noCalls(s, s)
			}
		}
	}
	return edits
}

func expressions(list []ast.Expr) (nodes []ast.Node) {
	for _, e := range list {
		nodes = append(nodes, e)
	}
	return nodes
}

// noCalls refuses calls of functions with barriers in parts of a statement.
func (x *expander) noCalls(s ast.Stmt, parts ...ast.Node) {
	for _, n := range parts {
		if n == nil || reflect.ValueOf(n).IsNil() {
			continue
		}
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt: // package build refuses these
				return false
			case ast.Stmt:
				if c := x.call(n); c != nil && !slices.Contains(parts, ast.Node(n)) {
					x.refuse(c.Pos(), "%s has a barrier, to which all threads of the block must come, so its call must be a statement of the kernel itself, or of a loop that all threads run as often; "+
						"write it outside of the statement that begins in line %d, and only the other statements inside", x.p.called(c).Name(), x.p.Fset.Position(s.Pos()).Line)
					return false
				}
			case *ast.CallExpr:
				if f := x.p.called(n); f != nil && x.waits(f) {
					x.refuse(n.Pos(), "%s has a barrier, so its call must be a statement of its own, such as v := %[1]s(..)", f.Name())
					return false
				}
			}
			return true
		})
	}
}

// statement returns the edit that writes a function in place of a statement with its call.
func (x *expander) statement(from *copied, s ast.Stmt, c *ast.CallExpr) []edit {
	before, results, ok := x.body(from, c)
	if !ok {
		return nil
	}
	text := ""
	if _, alone := s.(*ast.ExprStmt); !alone {
		text = from.cut(s.Pos(), s.End(), []edit{{c.Pos(), c.End(), strings.Join(results, ", ")}})
	} else if len(results) > 0 {
		text = from.at(c.Pos()) + strings.TrimSuffix(strings.Repeat("_, ", len(results)), ", ") + " = " + strings.Join(results, ", ")
	}
	end := s.End()
	if text == "" { // a semicolon after the call would be a statement of its own
		after := from.text[x.p.Fset.File(end).Offset(end):]
		if rest := strings.TrimLeft(after, " \t"); strings.HasPrefix(rest, ";") {
			end += token.Pos(len(after) - len(rest) + 1)
		}
	}
	return []edit{{s.Pos(), end, before + text}}
}

// body returns the statements of the function that a call names, and its results. If the function is refused, or package build will refuse it, ok is false.
func (x *expander) body(from *copied, c *ast.CallExpr) (before string, results []string, ok bool) {
	f := x.p.called(c)
	decl := x.decls[f.Origin()]
	several := len(c.Args) != f.Signature().Params().Len() // also a method expression
	if several || f.Signature().Variadic() || slices.Contains(x.busy, f.Origin()) || slices.Contains(x.p.Kernels(), decl) || x.wrong(decl) ||
		x.p.Constrained(decl.Pos()) || x.shares(decl) {
		return "", nil, false
	}
	if x.count++; x.count > mostCalls {
		x.refuse(slices.Concat(x.calls, []*ast.CallExpr{c})[0].Pos(), "the calls of functions with barriers in this kernel come to more than %d; call them in a loop", mostCalls)
		return "", nil, false
	}
	x.busy, x.calls = append(x.busy, f.Origin()), append(x.calls, c)
	defer func() { x.busy, x.calls = x.busy[:len(x.busy)-1], x.calls[:len(x.calls)-1] }()
	errors := len(x.refused)
	into := &copied{x: x, text: x.text(decl.Pos()), decl: decl, instead: map[types.Object]string{}, names: map[string]string{}}
	list := decl.Body.List
	var last *ast.ReturnStmt
	if n := len(list); n > 0 {
		if last, ok = list[n-1].(*ast.ReturnStmt); ok {
			list = list[:n-1]
		}
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && r != last {
			x.refuse(r.Pos(), "%s has a barrier, so it can only return at its end; put the statements that are left out here into an if, and the barriers outside of it", f.Name())
		}
		return true
	})
	x.means(decl)
	x.typeArguments(from, into, f, c)
	before = fmt.Sprintf("/*%s%s*/\n", callMark, x.p.Line(c.Pos())) + x.parameters(from, into, decl, c)
	if decl.Type.Results != nil {
		for _, field := range decl.Type.Results.List {
			for _, id := range field.Names {
				bare := last != nil && last.Results == nil
				all, assigned := x.uses(decl.Body, x.p.Info.Defs[id])
				if !bare && all == 0 {
					continue
				}
				name, _ := into.named(id)
				before += fmt.Sprintf("%svar %s %s\n", from.at(c.Pos()), name, into.cut(field.Type.Pos(), field.Type.End(), nil))
				if !bare && all == assigned { // Go wants a use
					before += "_ = " + name + "\n"
				}
			}
		}
	}
	if len(list) > 0 {
		before += into.cut(list[0].Pos(), list[len(list)-1].End(), x.list(into, list)) + "\n"
	}
	if last != nil {
		more := ""
		if more, results, ok = x.results(into, last, f.Origin().Signature()); !ok {
			return "", nil, false
		}
		before += more
	}
	return before + "/*" + endMark + "*/\n", results, len(x.refused) == errors
}

// results returns the results of a return statement, and the statements before it that a call in it needs.
func (x *expander) results(into *copied, last *ast.ReturnStmt, sig *types.Signature) (before string, results []string, ok bool) {
	if c := x.call(last); c != nil {
		x.noCalls(last, expressions(c.Args)...)
		before, results, ok = x.body(into, c)
		for i, text := range results {
			t := sig.Results().At(i).Type()
			results[i] = converted(text, into.typeName(t), !types.Identical(t, x.p.Info.TypeOf(c.Fun).(*types.Signature).Results().At(i).Type()))
		}
		return before, results, ok
	}
	x.noCalls(last, expressions(last.Results)...)
	if last.Results == nil {
		for v := range sig.Results().Variables() {
			results = append(results, into.names[v.Name()])
		}
	}
	for i, e := range last.Results {
		if len(last.Results) == sig.Results().Len() {
			t := sig.Results().At(i).Type()
			results = append(results, into.as(t, into.typeName(t), e))
		} else {
			results = append(results, into.cut(e.Pos(), e.End(), nil))
		}
	}
	return "", results, true
}

// shares reports whether a function has shared memory, which package build refuses.
func (x *expander) shares(decl *ast.FuncDecl) (found bool) {
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && x.p.Calls(c, "Shared")
		return !found
	})
	return found
}

// means refuses names of the package or of Go that mean something else at a call of the function that uses them.
func (x *expander) means(decl *ast.FuncDecl) {
	selected := map[*ast.Ident]bool{}
	look := func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			selected[s.Sel] = true
		}
		id, ok := n.(*ast.Ident)
		if !ok || selected[id] || x.p.Info.Uses[id] == nil || x.p.local(x.p.Info.Uses[id]) {
			return true
		}
		switch obj := x.p.Info.Uses[id].(type) {
		case *types.PkgName: // see imported
			return true
		case *types.Var:
			if obj.IsField() {
				return true
			}
		}
		for _, c := range x.calls {
			if _, there := x.p.Types.Scope().Innermost(c.Pos()).LookupParent(id.Name, c.Pos()); there != x.p.Info.Uses[id] {
				x.refuse(c.Pos(), "%s uses the name %s in %s, which means something else here; rename what is here", decl.Name.Name, id.Name, x.p.Line(id.Pos()))
			}
		}
		return true
	}
	if decl.Type.Results != nil {
		ast.Inspect(decl.Type.Results, look)
	}
	ast.Inspect(decl.Body, look)
}

// local reports whether a function declares an object.
func (p *Package) local(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func, *types.PkgName, *types.Builtin, *types.Nil:
		return false
	case *types.Var:
		if obj.IsField() {
			return false
		}
	}
	return obj.Pkg() == p.Types && obj.Parent() != p.Types.Scope()
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

// imported returns the name of another package in the kernel. If the kernel's file does not import the package, it will.
func (x *expander) imported(q *types.Package, name string) string {
	file := x.p.Types.Scope().Innermost(x.calls[0].Pos())
	for file.Parent() != x.p.Types.Scope() {
		file = file.Parent()
	}
	for _, name := range file.Names() {
		if as, ok := file.Lookup(name).(*types.PkgName); ok && as.Imported() == q && x.there(name) == as {
			return name
		}
	}
	if x.imports[q] == "" {
		x.imports[q] = x.fresh(name)
	}
	return x.imports[q]
}

// uses returns how often a node names a variable, and how often only to assign to it.
func (x *expander) uses(n ast.Node, v types.Object) (all, assigned int) {
	is := func(e ast.Expr) int {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && v != nil && x.p.Info.Uses[id] == v {
			return 1
		}
		return 0
	}
	ast.Inspect(n, func(n ast.Node) bool {
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
func (x *expander) typeArguments(from, into *copied, f *types.Func, c *ast.CallExpr) {
	id, recv := Callee(ast.Unparen(c.Fun))
	params, args := f.Origin().Signature().TypeParams(), x.p.Info.Instances[id].TypeArgs
	if f.Signature().Recv() != nil {
		t := x.p.Info.TypeOf(recv)
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			params, args = f.Origin().Signature().RecvTypeParams(), n.TypeArgs()
		}
	}
	for i := range min(params.Len(), args.Len()) {
		into.instead[params.At(i).Obj()] = from.typeName(args.At(i))
	}
}

// parameters returns the declarations of the parameters that are variables, and notes the texts that replace the others.
func (x *expander) parameters(from, into *copied, decl *ast.FuncDecl, c *ast.CallExpr) (text string) {
	fields, args, sig := decl.Type.Params.List, c.Args, x.p.Info.TypeOf(c.Fun).(*types.Signature)
	if decl.Recv != nil {
		called := ast.Unparen(c.Fun).(*ast.SelectorExpr)
		if s := x.p.Info.Selections[called]; s != nil && len(s.Index()) > 1 {
			x.refuse(c.Pos(), "%s has a barrier, so its call must name the embedded field that it is a method of", decl.Name.Name)
		}
		fields, args = slices.Concat(decl.Recv.List, fields), slices.Concat([]ast.Expr{called.X}, args)
	}
	var ids []*ast.Ident
	var typed []types.Type
	for _, field := range fields {
		for i := range max(len(field.Names), 1) {
			id := ast.NewIdent("_")
			if len(field.Names) > 0 {
				id = field.Names[i]
			}
			ids, typed = append(ids, id), append(typed, x.p.Info.TypeOf(field.Type))
		}
	}
	for i, arg := range args {
		v := x.p.Info.Defs[ids[i]]
		all, assigned := x.uses(decl.Body, v)
		given := x.p.Info.TypeOf(arg) // the parameter's type, with the type arguments of the call
		if k := i - len(args) + sig.Params().Len(); k >= 0 {
			given = sig.Params().At(k).Type()
		}
		if x.replaced(typed[i]) {
			if assigned > 0 {
				x.refuse(ids[i].Pos(), "%s has a barrier, so it cannot change the parameter %s", decl.Name.Name, ids[i].Name)
			}
			if have := x.p.Info.TypeOf(arg); !types.Identical(have, given) {
				x.refuse(arg.Pos(), "%s has a barrier, so this argument must have the type of the parameter, %s; declare one of them with the other's type",
					decl.Name.Name, types.TypeString(given, types.RelativeTo(x.p.Types)))
			}
			into.instead[v] = x.argument(from, arg, typed[i], decl.Name.Name)
			if all == 0 {
				text += x.used(into.instead[v])
			}
			continue
		}
		value, name := from.as(given, from.typeName(given), arg), "_"
		if decl.Recv != nil && i == 0 {
			if _, ptr := x.p.Info.TypeOf(arg).Underlying().(*types.Pointer); ptr {
				value = "*" + value
			}
		}
		op := "="
		if all > 0 {
			name, _ = into.named(ids[i])
			op = ":="
		}
		text += fmt.Sprintf("%s%s %s %s\n", from.at(arg.Pos()), name, op, value)
		if all > 0 && all == assigned { // Go wants a use
			text += "_ = " + name + "\n"
		}
	}
	return text
}

// used returns a statement that uses the variable in the text of an argument which replaces a parameter that the function does not use: Go wants a use.
func (x *expander) used(text string) string {
	name, _, _ := strings.Cut(strings.Trim(text, "(&)"), ".")
	if v := x.there(name); v != nil && v.Pos() < x.decl.Body.Pos() {
		return "" // a parameter
	}
	return "_ = " + name + "\n"
}

// replaced reports whether a parameter is replaced by the argument.
func (x *expander) replaced(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Pointer:
		return true
	}
	return GridType(t, "Thread") || MatrixOf(t) != nil
}

// argument returns the text that replaces a parameter. It must mean the same wherever the function uses the parameter.
func (x *expander) argument(from *copied, arg ast.Expr, t types.Type, function string) string {
	at := ast.Unparen(arg)
	take := ""
	if _, ptr := t.Underlying().(*types.Pointer); ptr {
		if u, ok := at.(*ast.UnaryExpr); ok && u.Op == token.AND {
			at, take = ast.Unparen(u.X), "&"
		} else if _, ptr := x.p.Info.TypeOf(arg).Underlying().(*types.Pointer); !ptr { // the receiver of a method
			take = "&"
		}
	}
	text, ok := from.path(at, take != "")
	if !ok {
		x.refuse(arg.Pos(), "%s has a barrier, so this argument must be a variable or a parameter, or the address of one; pass it as a whole, and the index of a part besides", function)
	}
	if take != "" {
		return "(&" + text + ")"
	}
	return text
}

// copied is a function whose statements are written into a kernel; or a kernel, which keeps its names.
type copied struct {
	x       *expander
	text    string // of its file
	decl    *ast.FuncDecl
	instead map[types.Object]string // what replaces parameters
	names   map[string]string       // the names in the kernel of what it declares; nil for a kernel
}

// edit replaces the text between two positions.
type edit struct {
	from, to token.Pos
	text     string
}

// named returns the text that replaces an identifier.
func (c *copied) named(id *ast.Ident) (string, bool) {
	obj := c.x.p.Info.ObjectOf(id)
	if text, ok := c.instead[obj]; ok && obj != nil {
		return text, true
	}
	if c.names == nil || id.Name == "_" {
		return "", false
	}
	if q, ok := obj.(*types.PkgName); ok {
		return c.x.imported(q.Imported(), id.Name), true
	}
	if obj != nil && !c.x.p.local(obj) { // the variable of a type switch has no object
		return "", false
	}
	return c.renamed(id.Name), true
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
		if text, ok := c.named(e); ok {
			return text, true
		}
		return e.Name, true
	case *ast.SelectorExpr:
		text, ok := c.path(e.X, fields)
		return text + "." + e.Sel.Name, ok && fields
	}
	return "", false
}

// at returns a comment that gives what follows a position.
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
	if c.names != nil {
		ast.Inspect(c.decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && from <= id.Pos() && id.End() <= to {
				if text, ok := c.named(id); ok && text != id.Name {
					edits = append(edits, edit{id.Pos(), id.End(), text})
				}
			}
			return true
		})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.from - b.from) })
	file := c.x.p.Fset.File(from)
	var b strings.Builder
	for _, e := range append(edits, edit{to, to, ""}) {
		if e.from >= from { // otherwise it is inside of another edit
			b.WriteString(c.at(from) + c.text[file.Offset(from):file.Offset(e.from)] + e.text)
			from = e.to
		}
	}
	return b.String()
}

// as returns the text of an expression that becomes a variable of a type, whose name in the kernel is in to.
func (c *copied) as(t types.Type, to string, e ast.Expr) string {
	text := c.cut(e.Pos(), e.End(), nil)
	untyped := c.x.p.Info.Types[e].Value != nil // or else the bits that a shift keeps depend on the type
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

// converted returns the text of a value, converted to the type with the name to if it has another.
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
	return types.TypeString(t, nil)
}

// These begin comments around the statements of a function that are written into a kernel.
const (
	callMark = "halyard:call "
	endMark  = "halyard:end"
)

// Position reports whether a comment only says where code is written into a kernel, and not what its author says.
func Position(c *ast.Comment) bool {
	return strings.HasPrefix(c.Text, "/*line ") || strings.HasPrefix(c.Text, "/*"+callMark) || c.Text == "/*"+endMark+"*/"
}

// caller returns the line of the call whose function was written into a kernel and has the position there, "" for other code.
func (p *Package) caller(pos token.Pos) string {
	if p.written == nil {
		return ""
	}
	var calls []string
	for _, file := range p.Files {
		if pos < file.FileStart || pos >= file.FileEnd {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				switch {
				case c.Pos() > pos:
				case strings.HasPrefix(c.Text, "/*"+callMark):
					calls = append(calls, strings.TrimSuffix(c.Text[len("/*"+callMark):], "*/"))
				case c.Text == "/*"+endMark+"*/" && len(calls) > 0:
					calls = calls[:len(calls)-1]
				}
			}
		}
	}
	if len(calls) == 0 {
		return ""
	}
	return calls[len(calls)-1]
}
