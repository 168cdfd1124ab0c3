package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
	for _, name := range []string{"page.svg", "page.png"} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, page.Write(file))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(name, ".png") {
			assert.True(t, bytes.HasPrefix(got, []byte("\x89PNG")))
			continue
		}
		for _, text := range []string{"curves", "a note", "first panel", "second panel", "third panel", "one", "two", "flat", "Liberation Sans,Arial"} {
			assert.Contains(t, string(got), text)
		}
		assert.NotContains(t, string(got), "nothing", "a line without points")
	}
}

func TestEmptyPageIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.svg")
	assert.ErrorContains(t, Page{}.Write(file), "the page has no panels")
	assert.NoFileExists(t, file)
}

func TestTicks(t *testing.T) {
	var values []float64
	for _, tick := range Ticks(3, 60) {
		values = append(values, tick.Value)
	}
	assert.Equal(t, []float64{5, 10, 20, 50}, values)
}
