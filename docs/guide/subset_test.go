package guide

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// declared is what the rows of the tables of the subset use.
const declared = `package p

import (
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/kernel/grid"
)

var (
	_ = fmt.Println
	_ = math.Pi
	_ = bits.Len
	_ = cmplx.Abs
	_ = rand.Int
	_ = slices.Max[[]int]
	_ = unsafe.Sizeof(1)
)

type point struct{ X, Y float32 }

func (p *point) scale(by float32) { p.X *= by; p.Y *= by }
func (p point) sum() float32      { return p.X + p.Y }

var weights = [4]float32{1, 2, 3, 4}
var counter = [4]float32{1}

func change()                             { counter[0]++ }
func square(x float32) float32            { return x * x }
func ends(n int) (lo, hi int)             { return 0, n - 1 }
func first(x []float32) float32           { return x[0] }
func bigger[T float32 | float64](a, b T) T { return max(a, b) }
func increase(p *float32)                 { *p++ }
func rest(x []float32) []float32          { return x[1:] }
func endless(x float32) float32           { return endless(x) }
func each(yield func(int) bool)           { yield(1) }
func total(x ...float32) float32          { return x[0] }
`

// example is a piece of code in a row of a table.
type example struct {
	code, instead string
	from, to      int // its lines in the package
}

// rows returns the code in the rows of a table, which is below a heading of the page about the subset.
func rows(t *testing.T, heading string) (all []*example) {
	t.Helper()
	_, section, found := strings.Cut(read(t, "go-subset.md"), "\n## "+heading+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\| .* \|$`).FindAllString(section, -1) {
		cells := strings.Split(strings.ReplaceAll(row, "||", "or"), " | ")
		instead := ""
		if len(cells) > 2 {
			instead = strings.TrimSpace(strings.Trim(strings.ReplaceAll(cells[2], "`", ""), "|"))
		}
		for _, c := range code.FindAllStringSubmatch(cells[1], -1) {
			all = append(all, &example{code: c[1], instead: instead})
		}
	}
	require.Greater(t, len(all), 20, heading)
	return all
}

var variables = regexp.MustCompile(`^(\w+(?:, \w+)*) :=|^var (\w+)`)

// kernel returns a kernel for the code of an example. A variable that the code does not use is used at its end.
func (e *example) kernel(n int) string {
	const mark = "//halyard:kernel\n"
	if f, ok := strings.CutPrefix(e.code, "func k("); ok {
		if !strings.HasSuffix(f, "}") || strings.Contains(f, "struct{") {
			f += " {}"
		}
		return fmt.Sprintf("%sfunc k%d(%s\n", mark, n, f)
	}
	used := ""
	depth, begin := 0, 0
	for i, c := range e.code + ";" {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ';' && depth == 0:
			if m := variables.FindStringSubmatch(strings.TrimSpace(e.code[begin:i])); m != nil {
				for _, v := range strings.Split(m[1]+m[2], ", ") {
					used += "\n\t_ = " + v
				}
			}
			begin = i + 1
		}
	}
	return fmt.Sprintf("%sfunc k%d(t grid.Thread, x, y []float32, n int, o grid.Out[float32]) {\n\to[0] = 1\n\t%s%s\n}\n", mark, n, e.code, used)
}

// refusals translates a package with a kernel for each example, and returns what is refused of each.
func refusals(t *testing.T, all []*example) map[*example]string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_subset-") // in this module, so that it finds what it imports, and in no pattern of the go command
	require.NoError(t, err)
	defer func() { assert.NoError(t, os.RemoveAll(dir)) }()
	text := declared
	for i, e := range all {
		e.from = strings.Count(text, "\n") + 1
		text += "\n" + e.kernel(i)
		e.to = strings.Count(text, "\n") + 1
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.go"), []byte(text), 0o600))
	packages, err := translate.Load(t.Context(), dir, ".")
	if err == nil {
		require.Len(t, packages, 1)
		_, err = packages[0].Translate()
	}
	found := map[*example]string{}
	var bad load.Errors
	if !errors.As(err, &bad) {
		require.NoError(t, err)
	}
	for _, b := range bad {
		for _, e := range all {
			name, _, _ := strings.Cut(b.Text, " ") // of a function that the example calls
			if e.from <= b.Pos.Line && b.Pos.Line < e.to || b.Pos.Line < all[0].from && strings.Contains(e.code, name+"(") {
				found[e] += b.Text + "\n"
			}
		}
	}
	if len(found) == 0 && err != nil {
		require.NoError(t, err, text)
	}
	return found
}

// What the page says a kernel may use is translated.
func TestTheSubsetIsAllowed(t *testing.T) {
	all := rows(t, "Allowed")
	for e, why := range refusals(t, all) {
		t.Errorf("%s: %s", e.code, why)
	}
}

// What the page says is refused is, with the words of the table. Refusals that come after others are found without these.
func TestTheSubsetIsRefused(t *testing.T) {
	for left := rows(t, "Refused"); len(left) > 0; {
		found := refusals(t, left)
		var rest []*example
		for _, e := range left {
			why, refused := found[e]
			if !refused {
				rest = append(rest, e)
				continue
			}
			assert.Contains(t, why, e.instead, e.code)
			t.Logf("%s: %s", e.code, why)
		}
		if len(rest) == len(left) {
			for _, e := range rest {
				t.Errorf("%s is not refused", e.code)
			}
			return
		}
		left = rest
	}
}
