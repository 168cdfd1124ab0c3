package translate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file makes the loops over the threads of a phase shorter, and their use of memory more even, as package facts says that they can be.

// rounds is a loop whose rounds the threads of a block may take together.
type rounds struct {
	*facts.Together
	loop      *ast.ForStmt
	v         types.Object // the loop's variable: in each round the thread's place in its block, plus a number that all threads have
	round     string       // the variable with the number that all threads have
	remaining string       // how many elements are left
}

// begin returns the definition of the loop's variable for a thread.
func (r *rounds) begin(place string) string {
	sum := r.round + " + " + place
	if r.v.Type() != types.Typ[types.Int] {
		sum = types.TypeString(r.v.Type(), func(*types.Package) string { return "" }) + "(" + sum + ")"
	}
	return r.v.Name() + " := " + sum
}

// number returns the text of an int that all threads have.
func (ph *phaseWriter) number(v *ir.Value) (text string) {
	var t types.Type
	if w := ph.Named(v); w != nil {
		text, t = ph.objects[w.Pos].Name(), ph.objects[w.Pos].Type()
	} else {
		e := v.Syntax.(ast.Expr)
		text, t = ph.values(e), ph.p.Info.TypeOf(e)
	}
	if b, basic := t.(*types.Basic); !basic || b.Kind() != types.Int && b.Info()&types.IsUntyped == 0 {
		text = "int(" + text + ")"
	}
	return text
}

// memory returns the name of the slice, or of the shared array, that an element is in.
func (ph *phaseWriter) memory(p *ir.Place) string { return ph.objects[ph.Memory(p).Pos].Name() }

// Threads run rounds together if a row of the block has from fewestTogether to mostTogether threads. With fewer it does not pay, and with more the
// variables that they keep fill the cache.
const (
	fewestTogether = 16
	mostTogether   = 4096
)

// far is a number so far from the ends of int that two of its size can be added. It depends on how many bits an int has where the file is compiled.
const far = "int(^uint(0)>>2)"

// writeRounds writes a loop whose rounds the threads take together if all indexes are within their slices, and else one by one.
func (ph *phaseWriter) writeRounds(b *strings.Builder, p *phase) {
	r := p.rounds
	r.round, r.remaining = ph.fresh("round"), ph.fresh("left")
	end, each, from, to := ph.fresh("stop"), ph.fresh("step"), ph.fresh("from"), ph.fresh("to")
	b.WriteString("{\n")
	fmt.Fprintf(b, "%s, %s, %s := 0, 0, 0 // of the first thread\n_, _, _ = %[1]s, %[2]s, %[3]s\n", ph.local[0], ph.local[1], ph.local[2])
	ph.writeAgain(b, r.loop.Init)
	step := fmt.Sprint(r.Fixed)
	if r.By != nil {
		step = ph.number(r.By)
	}
	fmt.Fprintf(b, "%s, %s, %s := %s, %s, int(%s)\n%s, %s := %[1]s, %[2]s\n", r.round, end, each, ph.number(r.From), ph.number(r.End), step, from, to)
	var lines, conditions []string
	once := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, l := range r.Loads {
		if !l.Counts {
			once(&conditions, fmt.Sprintf(" && uint64(%s) < uint64(len(%s))", ph.number(l.Terms[0].Value), ph.memory(l.Of)))
			continue
		}
		offset := ""
		for _, t := range l.Terms {
			offset += fmt.Sprintf(" %s (%s)", map[bool]string{false: "+", true: "-"}[t.Minus], ph.number(t.Value))
		}
		once(&lines, fmt.Sprintf("%[1]s, %[2]s = gridgen.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", from, to, cmp.Or(offset, "0"), ph.memory(l.Of)))
	}
	b.WriteString(strings.Join(lines, ""))
	fmt.Fprintf(b, "if %s == %s && %s == %s && %[2]s >= -%[6]s && %[4]s <= %[6]s && %[5]s > 0 && %[5]s < %[6]s", from, r.round, to, end, each, far)
	fmt.Fprintf(b, " && %s.Size[0] >= %d && %[1]s.Size[0] <= %[3]d", ph.block, fewestTogether, mostTogether)
	b.WriteString(strings.Join(conditions, "") + " {\n")
	if v, args := ph.vectors(p.inside[0]); v != nil {
		fmt.Fprintf(b, "if %s != nil && %s.Size[1]*%[2]s.Size[2] == 1 {\n%s = %[1]s(%[4]s%[5]s, %[6]s, int(%[2]s.Size[0]))\n}\n", v.Hook, ph.block, r.round, args, end, each)
	}
	fmt.Fprintf(b, "for ; %s < %s; %[1]s += %[3]s {\n%s := %[2]s - %[1]s\n", r.round, end, each, r.remaining)
	ph.writePhase(b, p.inside[0])
	b.WriteString("}\n} else {\n")
	ph.writePhase(b, p.inside[1])
	b.WriteString("}\n}\n")
}

// end returns the text of the number of threads of a row that a phase runs. It is less than the size of a block if the phase is one if statement whose condition
// bounds the thread's place. If only is not nil, it is that statement, and its condition is true for exactly these threads.
func (ph *phaseWriter) end(p *phase) (text string, only *ir.Stmt) {
	text = fmt.Sprintf("int(%s.Size[0])", ph.block)
	if p.rounds != nil {
		return fmt.Sprintf("min(%s, %s)", text, p.rounds.remaining), nil
	}
	limits, only := ph.Limits(p.Phase)
	if limits == nil {
		return text, nil
	}
	if s, ok := p.List[len(p.List)-1].Syntax.(*ast.IfStmt); !ok || s.Init != nil || !slices.Contains(p.stmts, ast.Stmt(s)) {
		return text, nil
	}
	if len(p.stmts) > 1 { // the others do nothing, but Go wants them, as a use of a variable
		only = nil
	}
	for _, l := range limits {
		most, first := ph.number(l.Most), "0"
		if l.Next {
			most = fmt.Sprintf("min(%s, %s)+1", most, far)
		}
		if l.Grid {
			first, ph.global[0] = ph.first[0], true
		}
		text += fmt.Sprintf(", max((%s) - %s, 0)", most, first)
	}
	return "min(" + text + ")", only
}

// move is a phase in which each thread copies an element, and neighbours copy neighbours: to shared memory, or from it.
type move struct{ dst, to, src, from string }

// moved returns the move that statements make, or nil if they do something else.
func (ph *phaseWriter) moved(list []ast.Stmt, made []*ir.Stmt) *move {
	to, from := ph.Moves(made)
	if to == nil {
		return nil
	}
	a, ok := made[0].Syntax.(*ast.AssignStmt)
	if !ok || a.Tok != token.ASSIGN || len(list) != 1 {
		return nil
	}
	if _, ok := ast.Unparen(a.Rhs[0]).(*ast.IndexExpr); !ok { // a conversion to a type of the same numbers
		return nil
	}
	m := &move{ph.memory(to), ph.number(to.Path[0].Index), ph.memory(from), ph.number(from.Path[0].Index)}
	if to.Local != nil {
		m.dst += "[:]"
	}
	if from.Local != nil {
		m.src += "[:]"
	}
	return m
}
