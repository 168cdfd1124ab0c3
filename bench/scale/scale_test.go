package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// The processes of points are this program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "point" {
		main()
		return
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	name, err := os.Executable()
	require.NoError(t, err)
	return name
}

// Every curve does its work, says what it took, and leaves nothing open.
func TestCurvesMeasureWhatTheySay(t *testing.T) {
	for _, c := range curves {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			require.NoError(t, c.once(t.Context(), 100, func(s sample) {
				require.Empty(t, s.Note)
				require.Positive(t, s.NS)
				got = append(got, s.Series)
			}))
			var want []string
			for _, s := range c.series {
				want = append(want, s.name)
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestWhatStaysOpenHasNoFigure(t *testing.T) {
	c := curve{name: "careless", run: func(p *point) {
		_, err := p.dev.NewStream()
		require.NoError(t, err)
	}}
	assert.ErrorIs(t, c.once(t.Context(), 1, nil), hal.ErrBusy)
}

func TestPointsRunInProcesses(t *testing.T) {
	o := options{most: 300, limit: time.Minute}
	got, err := o.curve(t.Context(), self(t), curves[0])
	require.NoError(t, err)
	require.Len(t, got.Series, len(curves[0].series))
	for _, s := range got.Series {
		assert.Equal(t, []int{100, 300}, s.N)
		assert.Len(t, s.NS, 2)
	}
	assert.Zero(t, got.Over)

	_, err = o.curve(t.Context(), self(t), curve{name: "no such curve", from: 1, to: 1})
	assert.ErrorContains(t, err, `there is no curve "no such curve"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = o.curve(ctx, self(t), curves[0])
	assert.ErrorIs(t, err, context.Canceled)
}

// What a process has printed before its time is over counts; what is missing is over the limit.
func TestTimeOfAPointEnds(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell: ", err)
	}
	m := measured{Name: "slow", What: "never ends", Series: []series{{Name: "quick"}, {Name: "slow"}}}
	limit := 500 * time.Millisecond
	over, err := m.add(t.Context(), 30, limit, sh, "-c", `echo '{"series":"quick","ns":40}'; echo '{"series":"quick","ns":20}'; exec sleep 600`)
	require.NoError(t, err)
	require.True(t, over)
	m.Over = 30
	assert.Equal(t, []float64{20}, m.Series[0].NS, "the fastest")
	assert.Empty(t, m.Series[1].NS)
	text := m.text(limit)
	assert.Regexp(t, `30 +│ 20 ns +│ +│ > 500ms`, text)

	_, err = m.add(t.Context(), 30, time.Minute, sh, "-c", `echo '{"series":"quick","ns":40}'`)
	assert.ErrorContains(t, err, `no figure for "slow"`)
	_, err = m.add(t.Context(), 30, time.Minute, sh, "-c", `echo it broke >&2; exit 3`)
	assert.ErrorContains(t, err, "it broke")
	_, err = m.add(t.Context(), 30, time.Minute, sh, "-c", `echo not a sample`)
	assert.Error(t, err)
}

// grown is a series that follows a law.
func grown(name string, most float64, law func(n float64) float64) series {
	s := series{Name: name, Most: most}
	for _, n := range sizes(100, 1e5) {
		s.N, s.NS = append(s.N, n), append(s.NS, law(float64(n)))
	}
	return s
}

func TestBendsAreFound(t *testing.T) {
	for _, c := range []struct {
		s     series
		bends bool
	}{
		{grown("constant", 0, func(n float64) float64 { return 300 }), false},
		{grown("leaves caches", 0, func(n float64) float64 { return 300 * math.Pow(2, math.Log10(n)) }), false},
		{grown("a tree", 0, func(n float64) float64 { return 100 * math.Log2(n) }), false},
		{grown("power", 0, func(n float64) float64 { return math.Pow(n, 0.7) }), true},
		{grown("at last", 0, func(n float64) float64 { return 1000 + n*n/1e6 }), true},
		{grown("list", 0, func(n float64) float64 { return 300 + n/10 }), true},
		{grown("list of all, in one call", 1, func(n float64) float64 { return 300 + n }), false},
		{grown("square, in one call", 1, func(n float64) float64 { return n * n }), true},
		{series{Name: "two points", N: []int{1, 3}, NS: []float64{1, 100}}, false},
	} {
		assert.Equal(t, c.bends, c.s.bends(), "%s: %s", c.s.Name, c.s.growth())
	}
}

func TestBendAtTheEndIsNamed(t *testing.T) {
	s := grown("at last", 0, func(n float64) float64 { return 1000 + n*n/1e6 })
	assert.Regexp(t, `^N\^0\.[34]\d, at last N\^[01]\.\d\d bends$`, s.growth())
}

func TestReports(t *testing.T) {
	r := results{Date: "2026-01-01", Machine: "a machine", Halyard: "a commit", Limit: 5 * time.Second, Curves: []measured{
		{Name: "flat", What: "N things", Series: []series{grown("one", 0, func(float64) float64 { return 1500 })}},
		{Name: "bent", What: "N others", Series: []series{grown("two", 0, func(n float64) float64 { return n })}, Over: 1_000_000, Notes: []string{"N = 100: late"}},
	}}
	assert.Regexp(t, regexp.MustCompile(`(?s)flat: N things\n.*│ +3000 │ 1\.5 µs │ 1\.0 │.*growth │ N\^0\.00`), r.Curves[0].text(r.Limit))
	assert.Equal(t, "Bends:\n  bent, two: N^1.00\n  bent: over the limit of 5s at N = 1000000\n  bent: N = 100: late\n", r.summary())
	text := r.markdown("scale.svg")
	for _, want := range []string{
		"Measured 2026-01-01 on a machine, Halyard at a commit; 5s for a point.\n\n![Time of an operation by N](scale.svg)\n",
		"| curve | time of | N = 100 | N = 1000 | N = 10000 | N = 100000 | growth |",
		"| flat | one | 1.5 µs | 1.5 µs | 1.5 µs | 1.5 µs | N^0.00 |",
		"| bent | two | 100 ns | 1.0 µs | 10 µs | 100 µs | N^1.00 bends |",
		"- `flat`: N things.\n", "- bent, two: N^1.00\n",
	} {
		assert.Contains(t, text, want)
	}
	page := r.page()
	require.Len(t, page.Panels, 2)
	assert.Equal(t, "bent (over the limit at 1000000)", page.Panels[1].Title)
	assert.Equal(t, "two: N^1.00 bends", page.Panels[1].Lines[0].Name)
	r.Curves = r.Curves[:1]
	assert.Equal(t, "No curve bends.\n", r.summary())
	assert.True(t, strings.HasSuffix(r.markdown(""), "\nNo curve bends.\n"))
}

func TestSizes(t *testing.T) {
	assert.Equal(t, []int{10, 30, 100, 300, 1000}, sizes(10, 2000))
	assert.Empty(t, sizes(10, 5))
}
