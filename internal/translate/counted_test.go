package translate

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts returns what a body becomes in C.
func texts(t *testing.T, body string) string {
	t.Helper()
	imp, err := imports()
	require.NoError(t, err)
	made, err := translatedWith(imp, `package p

import "github.com/go-halyard/halyard/kernel/grid"

type num int32

func (n *num) jump()  { *n = 2147483647 }
func jump(p *int) int { *p = 9223372036854775807; return 1 }

type pair struct{ list [4]float32 }

func (p *pair) set(a float32) {
	for d := range 4 {
		p.list[d] = a
	}
}

//halyard:kernel
func k(t grid.Thread, a float32, n, m int32, x, y []float32, z []int32, v [][8]float32, w [][32]float32, big [4]float32) {
`+body+"\n}\n")
	require.NoError(t, err, body)
	return made.C
}

// The step of a loop that counts up to an end is a sum that does not wrap around, if none can be larger than the type's numbers. Otherwise the text says
// what happens then, which C does not.
func TestStepsOfCountedLoops(t *testing.T) {
	t.Parallel()
	step := regexp.MustCompile(`; (h_i[^;<]*)\) \{`)
	const wraps = "h_i = (i64)((u64)h_i + 4)"
	for _, c := range []struct{ head, body, step string }{
		{"i := 0; i < len(x); i += 4", "", "h_i += 4"},
		{"i := 0; i < len(x)/2; i += 4", "", "h_i += 4"},
		{"i := 0; i < len(x)-3; i += 4", "", "h_i += 4"},
		{"i := int(m); i < min(len(x), int(n)*7) && a > 1; i += 4", "", "h_i += 4"},
		{"i := 0; a > 1 && (i < 1000); i += 4", "", "h_i += 4"},
		{"i := t.Global(0); i < len(x); i += len(y)", "", "h_i += (GO_INT)h_y_n"},
		{"i := 0; i <= len(x); i++", "", "h_i += 1"},
		{"i := 0; i < e; i += 4", "", "h_i += 4"},             // a variable that is a length
		{"i := int(n); i < int(z[0])*9; i++", "", "h_i += 1"}, // whatever is above it is no larger than the largest
		{"i := n; i < m; i++", "", "h_i++"},
		{"i := n; i < 2147483643; i += 5", "", "h_i += 5"},
		{"i := n; i < 2147483644; i += 5", "", "h_i = (i32)((u32)h_i + 5)"},
		{"i := n; i < m; i += 2", "", "h_i = (i32)((u32)h_i + 2)"},
		{"i := n; i <= m; i++", "", "h_i = (i32)((u32)h_i + 1)"},
		{"i := n; i != m; i++", "", "h_i = (i32)((u32)h_i + 1)"},
		{"i := n; i > m; i++", "", "h_i = (i32)((u32)h_i + 1)"},
		{"i := n; i < m || a > 1; i++", "", "h_i = (i32)((u32)h_i + 1)"},
		{"i := n; m > 5 && j < m; i++", "", "h_i = (i32)((u32)h_i + 1)"},
		{"i := n; i < m; i--", "", "h_i = (i32)((u32)h_i + -1)"},
		{"i := n; i < 9; i += -2147483648", "", "h_i = (i32)((u32)h_i + (i32)0x80000000)"},
		{"i := 0; i < 9; i += int(n)", "", "h_i = (i64)((u64)h_i + (u64)(GO_INT)h_n)"},
		{"i := 0; i < len(x)*len(y); i += 4", "", wraps},
		{"i := 0; i < len(x)-int(n); i += 4", "", wraps},
		{"i := 0; i < f; i += 4", "", wraps}, // a variable that was a length
		{"i := 0; i < len(x); i += 4", "i *= int(n)", wraps},
		{"i := 0; i < len(x); i += 4", "jump(&i)", wraps},
		{"i := num(0); i < 7; i++", "i.jump()", "h_i = (i32)((u32)h_i + 1)"},
		{"i := int8(0); i < 7; i++", "", "h_i++"},
		{"i := uint32(0); i < 7; i++", "", "h_i++"},
	} {
		got := step.FindStringSubmatch(texts(t, "e, f, j := len(x), len(y), n\nj++\nf *= 3\n_, _, _ = e, f, j\nfor "+c.head+" {\n "+c.body+"\n y[0]++\n}"))
		if assert.NotNil(t, got, c.head) {
			assert.Equal(t, c.step, got[1], c.head+" { "+c.body+" }")
		}
	}
}

// A short loop over an array of the thread's own may be unrolled, so that the array is in registers.
func TestUnrolledLoops(t *testing.T) {
	t.Parallel()
	unrolled := regexp.MustCompile(`GO_UNROLL\((\d+)\)`)
	for body, rounds := range map[string][]string{
		"for _, s := range v[0] {\n y[0] += s\n}":                                             {"8"},
		"p := v[0]\nfor d := range p {\n y[d] += p[d]\n}":                                     {"8"},
		"p := v[0]\nfor d := range 7 {\n y[0] += p[d+1]\n}":                                   {"7"},
		"var p pair\nfor d := 3; d >= 0; d-- {\n p.list[d] = a\n}\ny[0] = p.list[n&3]":        {"4"},
		"for d := 0; d < 8; d += 2 {\n y[d] = big[d/2]\n}":                                    {"4"},
		"var q [3][3]float32\nfor i := range 3 {\n for j := range 3 {\n  q[i][j] += a\n }\n}": {"3", "3"},
		"for i := range x {\n for _, s := range v[i] {\n  y[i] += s\n }\n}":                   {"8"},
		"for _, s := range w[0] {\n y[0] += s\n}":                                             nil, // too many
		"for d := range v[0] {\n y[d] += v[0][d]\n}":                                          nil, // not the thread's own
		"var p pair\np.set(a)\ny[0] = p.list[n&3]":                                            nil,
		"for d := range 8 {\n y[d] = a\n}":                                                    nil, // no array
		"p := v[0]\nfor range 8 {\n y[0] += p[n&7]\n}":                                        nil, // one element
		"p := v[0]\nfor d := range int(n) {\n y[0] += p[d&7]\n}":                              nil, // not known how many
		"s := grid.Shared[[8]float32](t)\nfor d := range 8 {\n s[d] = a\n}":                   nil,
		"for _, s := range v[0] {\n for k := range x {\n  y[k] += s\n }\n}":                   nil, // long
		"for _, s := range v[0] {\n for range 100 {\n  y[0] += s\n }\n}":                      nil,
		"for _, s := range v[0] {\n y[0] += s / a\n if s > a {\n  break\n }\n}":               {"8"},
	} {
		var got []string
		for _, found := range unrolled.FindAllStringSubmatch(texts(t, body), -1) {
			got = append(got, found[1])
		}
		assert.Equal(t, rounds, got, body)
	}
}
