package chart

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageShowsEveryPanelAndLine(t *testing.T) {
	page := Page{Title: "curves", Notes: []string{"a note"}, Columns: 2, Panels: []Panel{
		{Title: "first panel", X: "N", Y: "ns", Logarithmic: true, Lines: []Line{
			{Name: "one", X: []float64{1, 10, 100}, Y: []float64{3, 0, 5}}, // a point that has no logarithm
			{Name: "two", X: []float64{1}, Y: []float64{3}},
		}},
		{Title: "second panel", Lines: []Line{{Name: "flat", Plain: true, X: []float64{0, 1}, Y: []float64{2, 2}}}},
		{Title: "third panel", Logarithmic: true, Lines: []Line{{Name: "nothing"}}},
	}}
	page.Panels = append(page.Panels, Panel{Title: "fourth panel", Rows: []string{"low & slow", "high"}, One: true, Logarithmic: true, Lines: []Line{
		{Name: "dots", Dots: true, Look: 5, X: []float64{0.7, 3}, Y: []float64{0, 1}}, {Name: "others", Dots: true, Look: Black, X: []float64{1}, Y: []float64{1}},
	}}, Panel{Title: "fifth panel", Bytes: true, Logarithmic: true, Lines: []Line{
		{Name: "bars", Look: 6, X: []float64{4, 1 << 20}, Y: []float64{1, 2}, Low: []float64{0, 1.5}, High: []float64{1.1, 2.5}},
		{Dashed: true, Plain: true, Look: 6, X: []float64{4, 1 << 20}, Y: []float64{1, 2}},
	}})
	file := filepath.Join(t.TempDir(), "page.svg")
	require.NoError(t, page.Write(file))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, text := range []string{"curves", "a note", "first panel", "second panel", "third panel", "one", "two", "flat", "fourth panel", "fifth panel", "low &amp; slow", "high",
		"dots", "others", "bars", ">4 B<", ">16 KiB<", "stroke-dasharray"} {
		assert.Contains(t, string(got), text)
	}
	assert.NotContains(t, string(got), "nothing", "a line without points")
	assert.NotRegexp(t, "NaN|Inf", string(got))
	require.NoError(t, xml.Unmarshal(got, new(struct{})))
}

func TestEmptyPageIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.svg")
	assert.ErrorContains(t, Page{}.Write(file), "the page has no panels")
	assert.NoFileExists(t, file)
}

func TestTicks(t *testing.T) {
	values := func(ticks []tick) (all []float64) {
		for _, tick := range ticks {
			all = append(all, tick.value)
		}
		return all
	}
	assert.Equal(t, []float64{5, 10, 20, 50}, values(powers(3, 60)))
	assert.Equal(t, []float64{0, 2, 4, 6, 8, 10}, values(even(0, 10.5)))
	assert.Equal(t, []float64{-5, 0, 5}, values(even(-6, 9)))
	assert.Equal(t, []tick{{4, "4 B"}, {16, ""}, {64, "64 B"}}, sizes(4, 64))
}
