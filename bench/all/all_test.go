package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

const repository = "../.."

// A document that claims to be what a benchmark wrote, and has other figures, is an error on every machine. That some are older than the code is
// normal while the code changes: the test is skipped then, and fails where HALYARD_REQUIRE has "measured".
func TestDocumentsAreOfThisCode(t *testing.T) {
	files, err := sums(repository, benches)
	require.NoError(t, err)
	var old []string
	for _, b := range benches {
		if b.document == "" {
			continue
		}
		state, current, err := b.state(repository, files[b.name])
		require.NoError(t, err)
		if !current {
			old = append(old, b.name+" ("+state+")")
		}
	}
	required := slices.Contains(strings.Split(os.Getenv("HALYARD_REQUIRE"), ","), "measured")
	if len(old) > 0 && !required {
		t.Skip("make bench-all has not measured this code: " + strings.Join(old, ", "))
	}
	assert.Empty(t, old)
}

func TestNoBenchmarkIsForgotten(t *testing.T) {
	targets, sections := map[string]bool{}, map[string]bool{}
	for _, b := range benches {
		targets[b.target[0]], sections[b.section] = true, true
	}
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^(bench-[a-z]+):`).FindAllStringSubmatch(string(text), -1) {
		assert.True(t, targets[m[1]] || m[1] == "bench-all" || m[1] == "bench-status", m[1])
	}
	text, err = os.ReadFile(filepath.Join(repository, performance))
	require.NoError(t, err)
	found := regexp.MustCompile(`<!-- ([a-z]+): begin -->`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		assert.True(t, sections[m[1]], m[1])
	}
}

// write makes files in a folder.
func write(t *testing.T, root string, files map[string]string) {
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
}

// repositoryOf has a product of one package, a benchmark that uses it, and a Makefile that measures by writing a figure.
func repositoryOf(t *testing.T) string {
	root := t.TempDir()
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "")
	write(t, root, map[string]string{
		"go.mod":           "module " + module + "\n\ngo 1.25.0\n",
		"go.work":          "go 1.25.0\n\nuse (\n\t.\n\t./bench\n)\n",
		"bench/go.mod":     "module " + module + "/bench\n\ngo 1.25.0\n",
		"bench/install.sh": "#!/bin/sh\n",
		"hal/hal.go":       "package hal\n\n// A has a comment.\nfunc A() int { return 1 }\n",
		"hal/hal_test.go":  "package hal\n",
		"other/other.go":   "package other\n",
		"bench/x/main.go":  "package main\n\nimport \"" + module + "/hal\"\n\nfunc main() { hal.A() }\n",
		"bench/x/c/x.c":    "int x;\n",
		"docs/x.md":        "# X\n\n<!-- x: begin -->\n<!-- x: end -->\n\nAfter.\n",
		"docs/x.svg":       "<svg/>\n",
		"Makefile": "x:\n\t@echo measured >>ran\n\t@[ ! -e broken ]\n\t@printf '# X\\n\\n<!-- x: begin -->\\n42 ms\\n<!-- x: end -->\\n\\nAfter.\\n' >docs/x.md\n" +
			"\t@echo '<svg>42</svg>' >docs/x.svg\n",
	})
	return root
}

var x = bench{name: "x", target: []string{"x"}, folders: []string{"bench/x"}, document: "docs/x.md", section: "x", pictures: []string{"docs/x.svg"}}

func sumOf(t *testing.T, root string) string {
	files, err := sums(root, []bench{x})
	require.NoError(t, err)
	return files["x"]
}

func TestSumIsOfTheFilesThatMatter(t *testing.T) {
	root := repositoryOf(t)
	first := sumOf(t, root)
	write(t, root, map[string]string{
		"hal/hal.go":         "package hal\n\n// A has another comment.\nfunc A() int   { return 1 }\n",
		"hal/hal_test.go":    "package hal\n\nvar _ = 1\n",
		"hal/hal_windows.go": "package hal\n\nvar b int\n",
		"other/other.go":     "package other\n\nvar b int\n",
	})
	assert.Equal(t, first, sumOf(t, root))
	for _, change := range [][2]string{
		{"hal/hal.go", "package hal\n\nfunc A() int { return 2 }\n"},
		{"hal/vectors.go", "//go:build goexperiment.simd\n\npackage hal\n"},
		{"hal/more.go", "package hal\n\n//go:noinline\nfunc b() {}\n"},
		{"bench/x/c/x.c", "int y;\n"},
		{"bench/x/run", "#!/bin/sh\n"},
		{"bench/go.mod", "module " + module + "/bench\n\ngo 1.25.0\n\n// Another version.\n"},
		{"bench/x/main.go", "package main\n\nimport _ \"" + module + "/other\"\n\nfunc main() {}\n"},
	} {
		before := sumOf(t, root)
		write(t, root, map[string]string{change[0]: change[1]})
		assert.NotEqual(t, before, sumOf(t, root), change[0])
	}
}

func TestABenchmarkThatHasEndedIsNotRunAgain(t *testing.T) {
	root := repositoryOf(t)
	defer func(all []bench) { benches = all }(benches)
	benches = []bench{x}
	all := func() error { return run(context.Background(), root, nil, false) }
	status := func() error { return run(context.Background(), root, nil, true) }
	ran := func() int {
		text, _ := os.ReadFile(filepath.Join(root, "ran"))
		return strings.Count(string(text), "measured")
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	assert.ErrorContains(t, status(), "not of this code")

	// One that fails leaves the documents as they were, and no result.
	before := read("docs/x.md")
	write(t, root, map[string]string{"broken": ""})
	require.Error(t, all())
	assert.Equal(t, before, read("docs/x.md"))
	require.NoError(t, os.Remove(filepath.Join(root, "broken")))

	require.NoError(t, all())
	require.NoError(t, status())
	assert.Contains(t, read("docs/x.md"), "42 ms\n<!-- measured: files "+sumOf(t, root))
	assert.Contains(t, read("docs/x.md"), timing.Vendor())
	assert.Equal(t, "<svg>42</svg>\n", read("docs/x.svg"))
	assert.Equal(t, 2, ran())

	// The document is written from the result.
	whole := read("docs/x.md")
	write(t, root, map[string]string{"docs/x.md": before, "docs/x.svg": "<svg/>\n"})
	require.NoError(t, all())
	assert.Equal(t, whole, read("docs/x.md"))
	assert.Equal(t, 2, ran())

	// A figure, or a picture, that the benchmark did not write.
	write(t, root, map[string]string{"docs/x.md": strings.Replace(whole, "42", "41", 1)})
	assert.ErrorContains(t, status(), "has been changed since")
	write(t, root, map[string]string{"docs/x.md": whole, "docs/x.svg": "<svg>41</svg>\n"})
	assert.ErrorContains(t, status(), "has been changed since")
	write(t, root, map[string]string{"docs/x.svg": "<svg>42</svg>\n"})
	require.NoError(t, status())

	// Other code.
	write(t, root, map[string]string{"hal/hal.go": "package hal\n\nfunc A() int { return 2 }\n"})
	assert.ErrorContains(t, status(), "not of this code")
	require.NoError(t, all())
	require.NoError(t, status())
	assert.Equal(t, 3, ran())
}

// What is stopped leaves no result.
func TestStoppedBenchmarkIsRunAgain(t *testing.T) {
	root := repositoryOf(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	r := result{root, x, "v"}
	require.Error(t, r.measure(ctx, sumOf(t, root)))
	_, err := r.sum()
	require.Error(t, err)
	require.NoError(t, r.measure(context.Background(), sumOf(t, root)))
	sum, err := r.sum()
	require.NoError(t, err)
	assert.Equal(t, sumOf(t, root), sum)
	require.ErrorContains(t, r.measure(context.Background(), "another"), "changed while it ran")
	require.NoError(t, report(io.Discard, root, []bench{{name: "programs"}}, nil))
	_, err = choose([]string{"y"})
	require.ErrorContains(t, err, `no benchmark "y"`)
}
