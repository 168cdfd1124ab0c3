package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// This file replaces the calls of package grid's operations of blocks and groups by statements that do the same. Each thread puts its value
// into memory that the block shares, and the threads combine the values there, in rounds with a barrier after each: grid.BlockSum has the
// order. A comment before the rounds has the loop that the host runs instead of them, once for the block.

// operations has the names of the operations, without Block or Group. The value is the expression that combines two values, with the function
// that is given to Reduce as third argument; it is "" for an operation that combines none.
var operations = map[string]string{
	"Sum": "%[1]s + %[2]s", "Min": "min(%[1]s, %[2]s)", "Max": "max(%[1]s, %[2]s)", "And": "%[1]s & %[2]s", "Or": "%[1]s | %[2]s",
	"Any": "%[1]s || %[2]s", "All": "%[1]s && %[2]s", "Count": "%[1]s + %[2]s", "Ballot": "%[1]s | %[2]s", "Reduce": "%[3]s(%[1]s, %[2]s)",
	"Scan": "%[1]s + %[2]s", "ExclusiveScan": "%[1]s + %[2]s", "Broadcast": "", "Shuffle": "", "ShuffleXor": "",
}

// positions matches comments that give text a position.
var positions = regexp.MustCompile(`/\*line [^*]*\*/`)

const (
	groupSize = 32 // threads of a group

	// MostTogether is how many threads a block has at most if its kernel has such operations.
	MostTogether = 1024

	// Numbering is what [Package.Operation] returns for the declarations that number the threads of a block.
	Numbering = "Block"
)

// operation returns the name of the operation that a call is, without Block or Group, or "" if it is none.
func (p *Package) operation(c *ast.CallExpr) (name string, group bool) {
	f := p.called(c)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != GridPath || f.Signature().Recv() != nil {
		return "", false
	}
	if f.Name() == "LoadTile" || f.Name() == "StoreTile" {
		return f.Name(), false
	}
	name, group = strings.CutPrefix(f.Name(), "Group")
	name = strings.TrimPrefix(name, "Block")
	if _, ok := operations[name]; !ok || name == f.Name() {
		return "", false
	}
	return name, group
}

// shares is what a kernel declares at its beginning for its operations.
type shares struct {
	texts         []string
	rank, threads string            // the thread's number in its block, and how many threads the block has
	memory        map[string]string // arrays, by the type of their elements
	read          map[string]bool   // arrays in which threads may still read elements of other threads
	loops         int               // how many loops are around the statement

	tileRow, tileRows string // the thread's place along dimensions 1 and 2, and how many there are
}

// declare declares a variable at the beginning of the kernel, if *name is "".
func (x *expander) declare(name *string, as, format string, args ...any) string {
	if *name == "" {
		*name = x.another(as)
		x.shares.texts = append(x.shares.texts, *name+" := "+fmt.Sprintf(format, args...))
	}
	return *name
}

// another returns a name that means nothing in the kernel: name, name2, name3 and so on.
func (x *expander) another(name string) string {
	free := name
	for i := 2; x.names[free] || x.there(free) != nil; i++ {
		free = fmt.Sprint(name, i)
	}
	x.names[free] = true
	return free
}

func (x *expander) numbered(t string) string {
	return x.declare(&x.shares.rank, "rank", "(%s.Local(2)*%[1]s.Size(1)+%[1]s.Local(1))*%[1]s.Size(0) + %[1]s.Local(0)", t)
}

// begin returns the edit that adds the declarations to a kernel.
func (x *expander) begin(decl *ast.FuncDecl) []edit {
	if len(x.shares.texts) == 0 {
		return nil
	}
	at := decl.Body.Lbrace + 1
	return []edit{{at, at, blockMark + Numbering + "*/" + strings.Join(x.shares.texts, "; ") + ";" + endMark}}
}

// lane returns the edit that replaces an expression, if it is a call of grid.GroupLane.
func (x *expander) lane(from *copied, n ast.Node) []edit {
	c, ok := n.(*ast.CallExpr)
	if !ok || !x.p.Calls(c, "GroupLane") || len(c.Args) != 1 {
		return nil
	}
	x.calls = append(x.calls, c)
	defer func() { x.calls = x.calls[:len(x.calls)-1] }()
	t := positions.ReplaceAllString(from.cut(c.Args[0].Pos(), c.Args[0].End(), nil), "")
	return []edit{{c.Pos(), c.End(), fmt.Sprintf("(%s & %d)", x.numbered(t), groupSize-1)}}
}

// combined returns the statements of an operation, and the text of its result.
func (x *expander) combined(from *copied, c *ast.CallExpr) (text, result string, ok bool) {
	x.calls = append(x.calls, c)
	defer func() { x.calls = x.calls[:len(x.calls)-1] }()
	name, group := x.p.operation(c)
	if strings.HasSuffix(name, "Tile") {
		text, ok = x.tile(from, c)
		return text, "", ok
	}
	if sig := x.p.called(c).Signature(); len(c.Args) != sig.Params().Len() {
		x.refuse(c.Pos(), "the arguments of grid.%s must be written one by one", x.p.called(c).Name())
		return "", "", false
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = from.cut(a.Pos(), a.End(), nil)
	}
	plain := func(text string) string { return positions.ReplaceAllString(text, "") }
	t, f := plain(args[0]), plain(args[len(args)-1])
	elem, value := "bool", args[1]
	switch name {
	case "Any", "All":
	case "Count":
		elem = "int32"
	case "Ballot":
		elem = "uint32"
	default:
		t := x.p.Info.TypeOf(c.Fun).(*types.Signature).Params().At(1).Type()
		if n := x.localIn(t); n != nil {
			x.refuse(c.Pos(), "grid.%s takes no values of type %s, which the kernel declares; declare it outside of the kernel",
				x.p.called(c).Name(), n.Name())
			return "", "", false
		}
		elem = from.typeName(t)
		value = from.as(t, elem, c.Args[1])
	}
	rank := x.numbered(t)
	threads := ""
	if name != "Broadcast" {
		threads = x.declare(&x.shares.threads, "threads", "%s.Size(0) * %[1]s.Size(1) * %[1]s.Size(2)", t)
	}
	memory := x.shares.memory[elem]
	pkg := x.imported(x.p.called(c).Pkg(), "grid")
	x.shares.memory[elem] = x.declare(&memory, "values", "%s.Shared[[%d]%s](%s)", pkg, MostTogether, elem, t)
	barrier := from.at(c.Pos()) + t + ".Barrier()"
	if x.shares.read[elem] || x.shares.loops > 0 {
		text = barrier + "; "
	}
	x.shares.read[elem] = name != "Scan"
	own, first := fmt.Sprintf("%s[%s]", memory, rank), "0"
	if group {
		first = fmt.Sprintf("%s&^%d", rank, groupSize-1)
	}
	switch name {
	case "Count":
		text += fmt.Sprintf("%s = 0; if %s { %[1]s = 1 }; ", own, value)
	case "Ballot":
		text += fmt.Sprintf("%s = 0; if %s { %[1]s = 1 << (%[3]s & %[4]d) }; ", own, value, rank, groupSize-1)
	default:
		text += fmt.Sprintf("%s = %s; ", own, value)
	}
	text += barrier + "; "
	at := func(i string) string { return memory + "[" + i + "]" }
	if operations[name] != "" {
		text += x.rounds(name, group, barrier, func(to, i, j string) string {
			return at(to) + " = " + fmt.Sprintf(operations[name], at(i), at(j), f)
		}, func(to, from string) string { return at(to) + " = " + at(from) })
	}
	result = at(first)
	variable := x.another("at")
	switch name {
	case "Count":
		result = "int(" + result + ")"
	case "Scan":
		result = own
	case "ExclusiveScan":
		text += fmt.Sprintf("var %s %s; if %s != %s { %[1]s = %[5]s }; ", variable, elem, rank, first, at(rank+" - 1"))
		result = variable
	case "Broadcast":
		result = at(args[2])
	case "Shuffle":
		text += fmt.Sprintf("%s := %s | (%s) & %d; ", variable, first, args[2], groupSize-1)
	case "ShuffleXor":
		text += fmt.Sprintf("%s := %s ^ (%s) & %d; ", variable, rank, args[2], groupSize-1)
	}
	if strings.HasPrefix(name, "Shuffle") {
		text += fmt.Sprintf("if %s >= %s { %[1]s = %[3]s }; ", variable, threads, rank)
		result = at(variable)
	}
	return blockMark + x.p.called(c).Name() + "*/" + from.at(c.Pos()) + text, result, true
}

// rounds returns the rounds in which the values are combined. combine returns the statement that combines the values of two threads, and move
// the statement that copies a value. Package cprint knows the form of the loop and of the barrier in front of it: see its GO_ROUNDS.
func (x *expander) rounds(name string, group bool, barrier string, combine func(to, i, j string) string, move func(to, from string) string) string {
	d, i, j, rank, threads := x.another("d"), x.another("i"), x.another("j"), x.shares.rank, x.shares.threads
	// The max shows compilers that there is a first round. Otherwise PoCL's compiler makes a copy of everything that follows a loop with a barrier,
	// once for each such loop.
	end := threads
	if group {
		end = fmt.Sprintf("min(%s, %d)", threads, groupSize)
	}
	end = "max(" + end + ", 2)"
	loop := fmt.Sprintf("for %s := 1; %[1]s < %[2]s; %[1]s *= 2 { ", d, end)
	// The host moves the values together, so that they are read one after the other.
	n := x.another("n")
	host := fmt.Sprintf("for %s := %s; %[1]s > 1; %[1]s -= %[1]s / 2 { for %[3]s := 0; %[3]s < %[1]s/2; %[3]s++ { %[4]s }; "+
		"if %[1]s & 1 != 0 { %[5]s } }", n, threads, i, combine(i, "2*"+i, "2*"+i+"+1"), move(n+"/2", n+"-1"))
	if group {
		host = fmt.Sprintf("for %s := 0; %[1]s < %[2]s; %[1]s += %[3]d { "+
			"for %[4]s := min(%[2]s-%[1]s, %[3]d); %[4]s > 1; %[4]s -= %[4]s / 2 { for %[5]s := 0; %[5]s < %[4]s/2; %[5]s++ { %[6]s }; "+
			"if %[4]s & 1 != 0 { %[7]s } } }", j, threads, groupSize, n, i, combine(j+"+"+i, j+"+2*"+i, j+"+2*"+i+"+1"), move(j+"+"+n+"/2", j+"+"+n+"-1"))
	}
	one := fmt.Sprintf("if %s & (2*%s-1) == 0 && %[1]s < %[3]s-%[2]s { %[4]s }", rank, d, threads, combine(rank, rank, rank+"+"+d))
	if strings.HasSuffix(name, "Scan") {
		host = loop + fmt.Sprintf("for %s := %s; %[1]s < %[3]s; %[1]s += 2*%[2]s { "+
			"for %[4]s := %[1]s; %[4]s < min(%[1]s+%[2]s, %[3]s); %[4]s++ { %[5]s } } }",
			i, d, threads, j, combine(j, i+"-1", j))
		one = fmt.Sprintf("if %s & %s != 0 { %s }", rank, d, combine(rank, fmt.Sprintf("%s&^(%s-1)-1", rank, d), rank))
	}
	return hostMark + host + "*/" + loop + one + "; " + barrier + " }; "
}

// localIn returns the name of a type that the kernel declares, if t is one or has elements of one.
func (x *expander) localIn(t types.Type) *types.TypeName {
	switch t := types.Unalias(t).(type) {
	case *types.Array:
		return x.localIn(t.Elem())
	case *types.Named:
		if x.p.local(t.Obj()) {
			return t.Obj()
		}
	}
	return nil
}

// InRounds returns the loop that the host runs instead of a loop that combines values in rounds, or "" for other loops.
func (p *Package) InRounds(loop token.Pos) string {
	for _, file := range p.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if text, ok := strings.CutPrefix(c.Text, hostMark); ok && c.End() == loop {
					return strings.TrimSuffix(text, "*/")
				}
			}
		}
	}
	return ""
}

// Operation returns the operation of a block or group that this file has replaced by the statement at a position, or "" for other statements.
func (p *Package) Operation(pos token.Pos) string {
	_, name := p.caller(pos)
	return name
}
