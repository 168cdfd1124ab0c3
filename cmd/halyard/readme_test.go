package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	require.NoError(t, err)
	return string(text)
}

// What the guide says about environment variables covers all that the command's own packages read.
func TestGuideNamesTheVariables(t *testing.T) {
	guide := page(t, "docs/guide/environment.md")
	for _, name := range []string{hal.EnvDevices, "HALYARD_HOST_DEVICES", "HALYARD_CUDA_LIBRARY", "HALYARD_HIP_LIBRARY",
		"HALYARD_OPENCL_LIBRARY", "HALYARD_OPENCL_MEMORY", "HALYARD_DEBUG", "HALYARD_REQUIRE", trace.EnvTrace} {
		assert.Contains(t, guide, "| `"+name+"` |")
	}
}

func TestReadmeLeadsOn(t *testing.T) {
	readme := page(t, "README.md")
	assert.LessOrEqual(t, strings.Count(readme, "\n"), 140, "lines: what is longer belongs in the guide")
	for _, link := range []string{"docs/coherence.svg", "docs/layers.svg", "docs/guide/README.md", "docs/guide/environment.md",
		"docs/support.md", "RATIONALE.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md"} {
		assert.Contains(t, readme, "]("+link+")")
	}
}

// The figures in the README are those of the last measurement.
func TestReadmeFiguresAreMeasured(t *testing.T) {
	figures := regexp.MustCompile(`(?s)ping-pong of 64 MiB.*?takes\s+([\d.]+ ms).*?StarPU\s+([\d.]+ ms) \((×[\d.]+)\)`).FindStringSubmatch(page(t, "README.md"))
	require.NotNil(t, figures, "the README compares with StarPU")
	var header, row []string
	for line := range strings.Lines(page(t, "docs/performance.md")) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		switch strings.TrimPrefix(cells[0], "| ") {
		case "operation":
			if row == nil {
				header = cells
			}
		case "ping-pong, 64 MiB":
			row = cells
		}
	}
	require.Len(t, row, len(header), "the table of other systems")
	measured := map[string]string{}
	for i, name := range header {
		measured[strings.TrimSuffix(name, " |")] = strings.TrimSuffix(row[i], " |")
	}
	assert.Equal(t, measured["Halyard, discrete memory"], figures[1])
	assert.Equal(t, measured["StarPU"], figures[2]+" ("+figures[3]+")")
}
