package ir

import "go/token"

// Program has the kernels of a package, and the functions that they call.
type Program struct {
	Functions []*Function // callees before their callers
	Position  func(token.Pos) token.Position
}

// Function is a kernel, or a function that kernels call.
type Function struct {
	Name    string // the name in Go. Several functions may have it, as one is built for each list of type arguments, each form of slices and pointers, and each Fast
	Kernel  bool
	Fast    bool   // devices may fuse a float product with a sum, and approximate quotients and roots of float32. Only kernels that are fast call it
	Types   string // of a generic kernel: what its name has at its end for the type arguments
	Params  []*Param
	Results []*Type
	Locals  []*Local
	Vars    []*Var // of the Go function, in the order of their positions
	Body    *Region
	Syntax  any    // the *ast.FuncDecl from which it was built
	Prints  string // not empty if the function prints its parameters and does nothing else: the line, as file:line, and the text; see build

	values int
}

// Param is a parameter. Its value does not change. If the Go function assigns to a parameter, the parameter is copied into a local.
type Param struct {
	Name  string
	Type  *Type
	Index int
	Out   bool // the kernel promises to write all elements and to read none
	Pos   token.Pos

	Declared bool // its type in Go is not predeclared: the type of a number may have a name of its own
}

// Local is a variable that changes, that the threads of a block share, or that is a table.
type Local struct {
	Name  string // the name in Go; empty for a local that the translation adds
	Type  *Type
	Space Space  // Private, Shared or Constant. A shared local is zero when a block begins, unless Block is set
	Block bool   // it is shared, for operations of the block: an element is stored before any thread reads it, and stored again only after all have
	Index int    // among the function's locals
	Table *Table // of a local in Constant
	Pos   token.Pos

	Sized *Param // of a shared array whose length is given at each launch: the parameter with the length. Then Type.Len is the largest possible length
	Size  *Value // that length, from the kernel's other parameters; no statement computes it
}

// Var is a variable of the Go function, which may be a parameter. Its fields say what represents it here.
type Var struct {
	Name  string
	Pos   token.Pos // where Go declares it
	Param *Param
	Local *Local   // if it changes, or is shared memory
	Value *Value   // if it does not change. Several variables may have one value
	Of    *Place   // of a slice: the place of all elements
	Part  []*Value // of a slice: where it begins there, its length, and its capacity
}

// Table is a variable of a Go package that nothing changes. All functions that read it have a local for the same Table.
type Table struct {
	Name  string
	Type  *Type // an array
	Parts []any // the numbers and bools in it, in the order of memory: see Value.Const
}

// Region is a list of statements. Its bound values can be used in it, and in regions inside it.
type Region struct{ List []*Stmt }

// Action says what a statement does.
type Action uint8

// The kinds of statements, with the fields of [Stmt] that they use.
const (
	Let      Action = iota // evaluates Value once, here; later statements use the result
	Store                  // Place = Value. First the indexes are evaluated, then the value is, and then the indexes are checked
	If                     // if Value { Then } else { Else }
	Loop                   // for { Head; if !Value { break }; Then; Step }. With Count instead: for Count { Then }
	Switch                 // Clauses
	Break                  // leaves Target, an enclosing loop or switch
	Continue               // goes on with the step of Target, an enclosing loop
	Return                 // Values
	Barrier                // waits for all threads of the block
)

var actions = [...]string{"let", "store", "if", "loop", "switch", "break", "continue", "return", "barrier"}

func (a Action) String() string { return actions[a] }

// Stmt is a statement. One Go statement may become several statements.
type Stmt struct {
	Do     Action
	Pos    token.Pos
	Syntax any // the Go statement, an ast.Stmt

	Value      *Value // nil for a loop without a condition
	Place      *Place
	Values     []*Value
	Then, Else *Region
	Head, Step *Region // of a loop. Head runs before the condition is tested, and Step after each round. Each may be nil
	Count      *Count  // of a loop that counts, which has neither Value nor Head nor Step
	Clauses    []*Clause
	Target     *Stmt
	Label      string // the label in Go of a loop or switch
}

// Count says how a loop counts: "for Index := From; Index Op End; Index += By { }". From and End are evaluated once. Index does not change within a round. The
// sum Index + By wraps around as in Go.
type Count struct {
	Index     *Value
	From, End *Value
	Op        Op // Lt, Le, Gt, Ge or Ne
	By        int64
}

// Clause is a clause of a switch. The tests of all clauses are made in order, until one is true. Then the body of that test's clause runs. If no test is true,
// the body of the clause without tests runs.
type Clause struct {
	Tests []Test
	Body  *Region
	Falls bool // the body of the next clause follows
}

// Test is one condition of a clause.
type Test struct {
	Head *Region // statements that run before the condition is evaluated; it may be nil
	Cond *Value
}

// Value is the result of a computation. It does not change. If a [Let] or a [Count] defines the value (Bound is true), it is evaluated there, and any number of
// statements can use it. Otherwise the value is a part of one statement, is evaluated with that statement, and is used once.
type Value struct {
	ID    int // at least 0 and below Function.NumValues, for tables of what is known about values
	Op    Op
	Type  *Type // nil for a call of a function without results
	Args  []*Value
	Name  string // the name of its Go variable, if it has one
	Pos   token.Pos
	Bound bool

	Syntax any // the Go expression, an ast.Expr, that has this value; nil for a value that the translation adds

	Const any       // of Const: a bool, int64, uint64, float64 or complex128
	Of    string    // of Go and Atomic: the function's name, such as math.Sqrt or Add. Of InBlock and Threads: not empty if the grid may lack the dimension
	Which []int     // of Composite: the elements or fields whose values are Args; all others are zero. Of Extract: the field. Of the operations from InGrid to AllBlocks: the dimension
	Param *Param    // of Argument, Len, Rows and Cols
	Place *Place    // of Load, Address and Atomic
	Call  *Function // of Call
}

// Place is where a value is stored: a local, an element of a parameter, the target of a pointer parameter, or a part of one of these.
type Place struct {
	Local *Local
	Param *Param // if Local is nil
	Path  []Part
	Type  *Type
}

// Part is one step from a place to a part of it.
type Part struct {
	Field      int
	Index, Col *Value    // Index is not nil for an element. For an element of a matrix, Index is the row and Col is the column
	Pos        token.Pos // the position of the index in the source; a bound index may have another position itself. Pos may be missing
}

// Space returns the kind of memory that a place is in.
func (p *Place) Space() Space {
	if p.Local != nil {
		return p.Local.Space
	}
	return p.Param.Type.Space
}

// root returns the type of the local, slice, matrix or pointer target at which the path of a place begins.
func (p *Place) root() *Type {
	switch {
	case p.Local != nil:
		return p.Local.Type
	case p.Param.Type.Kind == Pointer:
		return p.Param.Type.Elem
	}
	return p.Param.Type
}

// within returns the type of the part s of a place of type t, or nil if there is no such part.
func (s Part) within(t *Type) *Type {
	if t.Kind == Slice || t.Kind == Matrix {
		return t.Elem
	}
	return t.Inner(s.Field)
}

// Indexes returns the indexes on the way to a place, in the order of their evaluation.
func (p *Place) Indexes() (all []*Value) {
	for _, s := range p.Path {
		if s.Index != nil {
			all = append(all, s.Index)
		}
		if s.Col != nil {
			all = append(all, s.Col)
		}
	}
	return all
}

// Operands returns the values that a value is computed from, in the order of their evaluation.
func (v *Value) Operands() []*Value {
	if v.Place == nil {
		return v.Args
	}
	return append(v.Place.Indexes(), v.Args...)
}

// Operands returns the values that a statement itself uses, in the order of their evaluation. It leaves out values that only the statement's regions use.
func (s *Stmt) Operands() (all []*Value) {
	if s.Place != nil {
		all = s.Place.Indexes()
	}
	if s.Count != nil {
		all = append(all, s.Count.From, s.Count.End)
	}
	if s.Value != nil && s.Do != Loop { // a loop's condition belongs to its head
		all = append(all, s.Value)
	}
	return append(all, s.Values...)
}

// Regions returns the regions in a statement.
func (s *Stmt) Regions() (all []*Region) {
	all = append(all, s.Head, s.Then, s.Else, s.Step)
	for _, c := range s.Clauses {
		for _, t := range c.Tests {
			all = append(all, t.Head)
		}
		all = append(all, c.Body)
	}
	n := 0
	for _, r := range all {
		if r != nil {
			all[n] = r
			n++
		}
	}
	return all[:n]
}

// Visit calls f for each statement of a region and of the regions inside it. It calls its second argument for each value that these statements compute,
// operands first. Either function may be nil.
func (r *Region) Visit(f func(*Stmt), value func(*Value)) {
	if r == nil {
		return
	}
	var visit func(v *Value)
	visit = func(v *Value) {
		for _, a := range v.Operands() {
			if !a.Bound {
				visit(a)
			}
		}
		value(v)
	}
	each := func(list ...*Value) {
		for _, v := range list {
			if value != nil && v != nil {
				visit(v)
			}
		}
	}
	for _, s := range r.List {
		if f != nil {
			f(s)
		}
		for _, v := range s.Operands() {
			if !v.Bound || s.Do == Let {
				each(v)
			}
		}
		for _, in := range s.Regions() {
			in.Visit(f, value)
		}
		if s.Do == Loop && s.Value != nil && !s.Value.Bound {
			each(s.Value)
		}
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				if !t.Cond.Bound {
					each(t.Cond)
				}
			}
		}
	}
}

// NumValues returns a number that is larger than the ID of each value of the function.
func (f *Function) NumValues() int { return f.values }
