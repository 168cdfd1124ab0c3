package build

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// program has the kernels of a package, and the functions that they call.
type program struct {
	own       *load.Package          // the package with the kernels
	pkg       *load.Package          // the package of the function that is being built
	known     map[*load.Package]bool // packages whose functions are in decls
	errs      []load.Error
	context   *types.Context // for instantiating generic types
	decls     map[*types.Func]*ast.FuncDecl
	kernels   map[*types.Func]bool
	fast      bool // the kernel that is being built is fast
	functions map[*types.Func][]*function
	types     map[types.Type]*ir.Type
	tables    map[*types.Var]*table
	effects   map[*ir.Function]*facts.Effects
	made      *ir.Program
}

// kind is the form of a Go variable.
type kind int

const (
	value   kind = iota // an ir.Value if it does not change, else an ir.Local
	slice               // a parameter, or a part of one or of an array
	pointer             // a parameter
	shared              // a Go pointer to shared memory, which is a local
	list                // a slice that is a variable of the package; a local that is a table represents it
	chosen              // a pointer to one of several tables; a local with the table's number represents it
	thread              // the grid.Thread; package ir has no such variable, but operations such as ir.InGrid
	matrix              // a parameter
)

// variable is what represents a Go variable.
type variable struct {
	kind   kind
	typ    types.Type
	param  *ir.Param
	part   *part // of a slice
	local  *ir.Local
	is     *ir.Value // the value of a variable that does not change; nil for a parameter and a local
	tables *ir.Local // the tables of which a pointer points to one
	made   int64     // how many assignments of them are built
}

// part is what a slice consists of: elements of a place, which is a slice parameter or an array. Each of its values is bound, or the result of an operation
// without operands.
type part struct {
	of             *ir.Place
	from, len, cap *ir.Value // the part begins at the index from of the place
	parameter      bool      // all elements of a slice parameter
}

// form is how an argument that refers to memory is passed to a function. A function is built for each form.
type form struct {
	space ir.Space // of what a pointer points to, or of an array
	part  bool     // a slice is passed as what a part consists of
	array *ir.Type // the array of that part; nil if it is a part of a slice
}

func (a form) same(b form) bool {
	return a.space == b.space && a.part == b.part && a.array.Same(b.array)
}

// table is a variable of a package. Kernels can read it if nothing changes it.
type table struct {
	made *ir.Table
	why  string // why kernels cannot read it; empty if they can
}

// reader reads the Go syntax of a function, for certain type arguments.
type reader struct {
	p        *program
	decl     *ast.FuncDecl
	kernel   bool
	args     map[*types.TypeParam]types.Type
	replaced map[*types.Named]bool // types that substitute is replacing now
	bytes    int64                 // the bytes of a kernel's arguments so far
	vars     map[types.Object]*variable
	changes  map[types.Object]int // how often a variable is changed after its declaration; taking its address or a part of it counts as a change
}

// operations builds values of others that are built already.
type operations struct {
	reader
	*ir.Builder
}

// values builds values and places.
type values struct{ operations }

// function is a function for certain type arguments and kinds of memory.
type function struct {
	values
	made    *ir.Function
	forms   []form       // how its arguments that refer to memory are passed
	given   []types.Type // type arguments
	results []types.Type // the Go types of the results
	named   []*variable  // the variables of results that have names
	busy    bool         // it is being built
	broken  bool         // it has errors
	jumps   []jump
}

// jump is a loop or a switch around the statement that is being built.
type jump struct {
	label string
	stmt  *ir.Stmt
}

// refusal is the value of a panic that ends the translation of a statement.
type refusal struct {
	pos  token.Pos
	text string
}

func refuse(pos token.Pos, format string, args ...any) {
	panic(refusal{pos, fmt.Sprintf(format, args...)})
}

// try calls f. If f panics with a refusal, try notes the error.
func (p *program) try(f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			if r.text != "" {
				p.note(r.pos, r.text)
			}
		default:
			panic(r)
		}
	}()
	f()
}

func (p *program) note(pos token.Pos, text string) {
	e := load.Error{Pos: p.pkg.Fset.Position(pos), Text: text}
	if !slices.Contains(p.errs, e) {
		p.errs = append(p.errs, e)
	}
}

// instead says what to write instead of functions of Go's packages.
var instead = map[string]string{
	"fmt": "call grid.Println, or write into a buffer", "log": "call grid.Println, or write into a buffer", "sort": "call algo.Sort, of package kernel/algo, outside of the kernel",
	"math/rand": "use package kernel/grid/rand", "math/rand/v2": "use package kernel/grid/rand",
}

// refuseForeign refuses a function of a package that has no translation.
func refuseForeign(pos token.Pos, obj *types.Func) {
	what := "write one in this package, and call that"
	if obj.Pkg() != nil {
		path := obj.Pkg().Path()
		if path == "slices" && strings.HasPrefix(obj.Name(), "Sort") {
			path = "sort"
		}
		if load.Mathematics(path) { // its source is not there
			refuse(pos, "%s.%s has no translation; write a function that computes it", obj.Pkg().Name(), obj.Name())
		}
		if known := instead[path]; known != "" {
			what = known
		}
	}
	refuse(pos, "%s is a function of another package; %s", obj.FullName(), what)
}
