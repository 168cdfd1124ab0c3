// Package doccheck checks what the documents say about the code. Its tests read the pages of the top folder and docs: links lead to files that
// exist, and the table of features names code and tests that are where it says.
package doccheck

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
)

const (
	table = "docs/coverage.md"
	rows  = 114

	suite    = "conformance"                         // whose files have the checks of the suite
	subtests = "internal/testing/cudahiptest/run.go" // lists the tests of backends that drive an API
)

// statuses says of each what a row needs.
var statuses = map[string]struct{ tested, explained bool }{
	"works":             {tested: true},
	"works differently": {tested: true, explained: true},
	"not there":         {explained: true},
	"out of scope":      {explained: true},
}

var (
	code    = regexp.MustCompile("`[^`\n]+`")
	link    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	dropped = regexp.MustCompile(`[^\w\- ]`) // from a heading, to make its anchor
)

// tree is the files of the module, by their paths from its root.
type tree struct {
	fs.FS
	parsed map[string]*goFile
}

func module() tree { return tree{os.DirFS("../../.."), map[string]*goFile{}} }

// prose is a page without its fenced code.
func prose(text string) string {
	parts := strings.Split("\n"+text, "\n```")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = ""
	}
	return strings.Join(parts, "\n")
}

// follow returns the file that a link on a page leads to.
func (t tree) follow(page, target string) (string, error) {
	file, anchor, _ := strings.Cut(target, "#")
	name := page
	if file != "" {
		name = path.Join(path.Dir(page), file)
	}
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%s leads outside", target)
	}
	if _, err := fs.Stat(t, name); err != nil {
		return "", fmt.Errorf("%s leads nowhere", target)
	}
	if anchor != "" && path.Ext(name) == ".md" {
		text, err := fs.ReadFile(t, name)
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(heading.FindAllStringSubmatch(prose(string(text)), -1), func(h []string) bool {
			return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor
		}) {
			return "", fmt.Errorf("%s: there is no such heading", target)
		}
	}
	return name, nil
}

// links reports the links of a page that lead nowhere.
func (t tree) links(page, text string) (problems []string) {
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(text), ""), -1) {
		if strings.Contains(m[2], "://") || strings.HasPrefix(m[2], "mailto:") {
			continue
		}
		if _, err := t.follow(page, m[2]); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", page, err))
		}
	}
	return problems
}

// goFile is what a file of Go declares: names, and Type.Name for methods and fields.
type goFile struct {
	text    string
	pkg     string
	names   map[string]bool
	runners map[string]bool // tests, examples and fuzz targets
}

func (t tree) file(name string) (*goFile, error) {
	if f := t.parsed[name]; f != nil {
		return f, nil
	}
	text, err := fs.ReadFile(t, name)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		return nil, err
	}
	f := &goFile{text: string(text), pkg: parsed.Name.Name, names: map[string]bool{}, runners: map[string]bool{}}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				f.names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
				continue
			}
			f.names[d.Name.Name] = true
			f.runners[d.Name.Name] = strings.HasSuffix(name, "_test.go") &&
				slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(p string) bool { return strings.HasPrefix(d.Name.Name, p) })
		case *ast.GenDecl:
			for _, s := range d.Specs {
				f.specify(s)
			}
		}
	}
	t.parsed[name] = f
	return f, nil
}

func (f *goFile) specify(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			f.names[n.Name] = true
		}
	case *ast.TypeSpec:
		f.names[s.Name.Name] = true
		var members *ast.FieldList
		switch typ := s.Type.(type) {
		case *ast.StructType:
			members = typ.Fields
		case *ast.InterfaceType:
			members = typ.Methods
		default:
			return
		}
		for _, m := range members.List {
			for _, n := range m.Names {
				f.names[s.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// receiver is the name of a method's type, without a star and parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// named finds what a link's text names in the file that the link leads to, and reports whether that is a test.
func (t tree) named(name, file string) (test bool, err error) {
	if path.Ext(file) != ".go" {
		return false, fmt.Errorf("`%s` leads to %s, which is no file of Go", name, file)
	}
	f, err := t.file(file)
	if err != nil {
		return false, err
	}
	_, check, isCheck := strings.Cut(name, "/")
	switch {
	case isCheck && path.Dir(file) == suite:
		if slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return c.Name == name }) &&
			strings.Contains(f.text, "{Name: "+strconv.Quote(check)+",") {
			return true, nil
		}
		return true, fmt.Errorf("%s has no check %s", file, name)
	case isCheck:
		if file == subtests && strings.Contains(f.text, "{"+strconv.Quote(name)+",") {
			return true, nil
		}
		return true, fmt.Errorf("%s has no test %s", file, name)
	case strings.HasSuffix(file, "_test.go"):
		if !f.runners[name] {
			return true, fmt.Errorf("%s has no test %s", file, name)
		}
		return true, nil
	}
	if !f.names[strings.TrimPrefix(name, f.pkg+".")] {
		return false, fmt.Errorf("%s does not declare %s", file, name)
	}
	return false, nil
}

// column counts the links of a cell that name code, and those that name tests.
func (t tree) column(page, cell string) (code, tests int, problems []string) {
	for _, m := range link.FindAllStringSubmatch(cell, -1) {
		name, quoted := strings.CutPrefix(m[1], "`")
		if !quoted {
			continue // links looks at these
		}
		file, err := t.follow(page, m[2])
		var test bool
		if err == nil {
			test, err = t.named(strings.TrimSuffix(name, "`"), file)
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
		if test {
			tests++
		} else {
			code++
		}
	}
	return code, tests, problems
}

// features reports what is wrong with the table of n features on a page. Its columns are the number, the feature, the status, code,
// tests, and notes.
func (t tree) features(page, text string, n int) (problems []string) {
	seen := map[int]int{}
	for line := range strings.Lines(prose(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "#" || strings.HasPrefix(cells[0], "--") {
			continue
		}
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("row %s: ", cells[0])+fmt.Sprintf(format, args...))
		}
		number, err := strconv.Atoi(cells[0])
		if err != nil || number < 1 || number > n || len(cells) != 6 {
			wrong("no row of the table: %s", line)
			continue
		}
		if seen[number]++; seen[number] > 1 {
			wrong("is there twice")
		}
		status, ok := statuses[cells[2]]
		if !ok {
			wrong("there is no status %q", cells[2])
		}
		var code, tests int
		for i, cell := range cells {
			c, te, found := t.column(page, cell)
			for _, p := range found {
				wrong("%s", p)
			}
			switch i {
			case 3:
				code = c
				if te > 0 {
					wrong("a test among the code")
				}
			case 4:
				tests = te
				if c > 0 {
					wrong("code among the tests")
				}
			}
		}
		if cells[1] == "" {
			wrong("names no feature")
		}
		if status.tested && (code == 0 || tests == 0) {
			wrong("%s without code and a test", cells[2])
		}
		if status.explained && cells[5] == "" {
			wrong("%s without a reason", cells[2])
		}
	}
	for i := 1; i <= n; i++ {
		if seen[i] == 0 {
			problems = append(problems, fmt.Sprintf("row %d: is missing", i))
		}
	}
	return problems
}

func TestFeatures(t *testing.T) {
	m := module()
	text, err := fs.ReadFile(m, table)
	require.NoError(t, err)
	assert.Empty(t, m.features(table, string(text), rows))
}

// pages calls fn with each page, and returns how many there are.
func (t tree) pages(test *testing.T, fn func(name, text string)) (n int) {
	read := func(name string) {
		text, err := fs.ReadFile(t, name)
		require.NoError(test, err)
		n++
		fn(name, string(text))
	}
	for _, page := range []string{"README.md", "RATIONALE.md", "CONTRIBUTING.md", "CHANGELOG.md", "scripts/README.md"} {
		read(page)
	}
	require.NoError(test, fs.WalkDir(t, "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			read(name)
		}
		return err
	}))
	return n
}

func TestLinks(t *testing.T) {
	m := module()
	pages := m.pages(t, func(name, text string) { assert.Empty(t, m.links(name, text)) })
	assert.Greater(t, pages, 5, "the documents are there")
}

// Lines of pages have at most 140 characters, apart from tables and code. Programs write some pages, and two are older than this rule.
func TestLinesAreShort(t *testing.T) {
	apart := []string{"docs/apps.md", "docs/nvidia.md", "docs/performance.md", "docs/torture.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	module().pages(t, func(name, text string) {
		if !slices.Contains(apart, name) {
			assert.Empty(t, longLines(text), name)
		}
	})
	long := func(n int) string { return strings.Repeat("é", n) + "\n" }
	assert.Equal(t, []int{2}, longLines(long(140)+long(141)+"| "+long(140)+"```\n"+long(141)+"```\n    "+long(140)))
}

// longLines returns the numbers of the long lines of a page.
func longLines(text string) (found []int) {
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		fenced = fenced != strings.HasPrefix(strings.TrimSpace(line), "```")
		if !fenced && utf8.RuneCountInString(line) > 140 && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
			found = append(found, i+1)
		}
	}
	return found
}

// Each row but the first has one mistake.
func TestMistakesAreFound(t *testing.T) {
	const code, test = "[`hal.Device.Alloc`](../hal/memory.go)", "[`Copy/Large`](../conformance/copy.go)"
	m := module()
	row := func(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	for _, c := range []struct{ page, want string }{
		{row("#", "feature", "status", "code", "tests", "notes") + row("--", "--", "--", "--", "--", "--") + row("1", "f", "works", code, test, ""), ""},
		{row("1", "f", "works", code, "[`TestMistakesAreFound`](../internal/testing/doccheck/doccheck_test.go)", ""), ""},
		{row("1", "f", "works", code, "[`Copy/Peers`](../internal/testing/cudahiptest/run.go)", ""), ""},
		{row("1", "f", "not there", "", "", "because [x](../hal)"), ""},
		{"```\n" + row("1", "f", "works", code, test, "") + "```\n", "row 1: is missing"},
		{row("1", "f", "works", code, test, "") + row("1", "f", "works", code, test, ""), "row 1: is there twice"},
		{row("2", "f", "works", code, test, ""), "no row of the table"},
		{row("1", "f", "works", code, test), "no row of the table"},
		{row("one", "f", "works", code, test, ""), "no row of the table"},
		{row("1", "", "works", code, test, ""), "names no feature"},
		{row("1", "f", "mostly", code, test, ""), `there is no status "mostly"`},
		{row("1", "f", "works", code, "", ""), "works without code and a test"},
		{row("1", "f", "works", "", test, ""), "works without code and a test"},
		{row("1", "f", "works", code, "[tests](../hal/hal_test.go)", ""), "works without code and a test"},
		{row("1", "f", "works differently", code, test, ""), "works differently without a reason"},
		{row("1", "f", "out of scope", "", "", ""), "out of scope without a reason"},
		{row("1", "f", "works", test, test, ""), "a test among the code"},
		{row("1", "f", "works", code, code, ""), "code among the tests"},
		{row("1", "f", "works", "[`hal.Device.Alloc`](../hal/devices.go)", test, ""), "../hal/devices.go leads nowhere"},
		{row("1", "f", "works", "[`hal.Device.Alloc`](../../hal/memory.go)", test, ""), "leads outside"},
		{row("1", "f", "works", "[`hal.Device.Allocate`](../hal/memory.go)", test, ""), "does not declare hal.Device.Allocate"},
		{row("1", "f", "works", "[`pool.Device.Alloc`](../hal/memory.go)", test, ""), "does not declare pool.Device.Alloc"},
		{row("1", "f", "works", "[`Device`](../hal)", test, ""), "no file of Go"},
		{row("1", "f", "works", code, "[`Copy/Largest`](../conformance/copy.go)", ""), "has no check Copy/Largest"},
		{row("1", "f", "works", code, "[`Fill/Large`](../conformance/bounds.go)", ""), "has no check Fill/Large"},
		{row("1", "f", "works", code, "[`Copy/Nobody`](../internal/testing/cudahiptest/run.go)", ""), "has no test Copy/Nobody"},
		{row("1", "f", "works", code, "[`Copy/Large`](../hal/memory.go)", ""), "has no test Copy/Large"},
		{row("1", "f", "works", code, "[`TestNothing`](../hal/hal_test.go)", ""), "has no test TestNothing"},
		{row("1", "f", "works", code, "[`openNamed`](../hal/hal_test.go)", ""), "has no test openNamed"},
		{row("1", "f", "not there", "", "", "see [`hal.Nothing`](../hal/memory.go)"), "does not declare hal.Nothing"},
	} {
		got := strings.Join(m.features(table, c.page, 1), "\n")
		if c.want == "" {
			assert.Empty(t, got, c.page)
		} else {
			assert.Contains(t, got, c.want, c.page)
		}
	}

	for text, want := range map[string]string{
		"[a](coverage.md) [b](../hal) [c](https://example.org/none) [d](#memory) [e](../README.md#two-commands)": "",
		"```\n[a](none.md)\n```\n":        "",
		"[a](none.md)":                    "none.md leads nowhere",
		"```\ncode\n```\n[a](../none.go)": "../none.go leads nowhere",
		"[`code`](none.md)":               "none.md leads nowhere",
		"`New[T](n)`":                     "",
		"![picture](none.svg)":            "none.svg leads nowhere",
		"[a](../../hal/none.go)":          "leads outside",
		"[a](#nothing)":                   "#nothing: there is no such heading",
		"[a](../README.md#nothing)":       "there is no such heading",
	} {
		got := strings.Join(m.links(table, text), "\n")
		if want == "" {
			assert.Empty(t, got, text)
		} else {
			assert.Contains(t, got, want, text)
		}
	}
}

// The map of folders in CONTRIBUTING.md names folders that exist, and each package of the module or a folder above it.
func TestContributingMapsTheFolders(t *testing.T) {
	m := module()
	text, err := fs.ReadFile(m, "CONTRIBUTING.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n## Where things are\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for line := range strings.Lines(section) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if strings.HasPrefix(line, "|") {
			for _, folder := range code.FindAllString(first, -1) {
				named = append(named, strings.Trim(folder, "`"))
			}
		}
	}
	for _, folder := range named {
		info, err := fs.Stat(m, folder)
		assert.True(t, err == nil && info.IsDir(), "there is no folder %s", folder)
	}
	// A folder that holds many packages of different purposes covers none of them by its own name.
	several := []string{"internal", "buffer", "hal", "backends"}
	require.NoError(t, fs.WalkDir(m, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		if strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "testdata" || name == "bin" || name == "dist" {
			return fs.SkipDir
		}
		files, err := fs.Glob(m, name+"/*.go")
		if err != nil || len(files) == 0 {
			return err
		}
		for at := name; at != "."; at = path.Dir(at) {
			if slices.Contains(named, at) && (at == name || !slices.Contains(several, at)) {
				return nil
			}
		}
		t.Errorf("the map has no %s", name)
		return nil
	}))
}

// Every package that a program can import has an example that runs. Those that are examples themselves, measure or only test are left out.
func TestPackagesHaveExamples(t *testing.T) {
	m := module()
	left := []string{"internal", "testdata", "bench", "docs", "examples", "scripts", "bin", "dist"}
	packages := 0
	require.NoError(t, fs.WalkDir(m, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		if strings.HasPrefix(path.Base(name), ".") || slices.Contains(left, path.Base(name)) {
			return fs.SkipDir
		}
		files, err := fs.Glob(m, name+"/*.go")
		if err != nil {
			return err
		}
		found, runs := false, false
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, must(fs.ReadFile(m, file)), parser.ParseComments)
			if err != nil {
				return err
			}
			if !strings.HasSuffix(file, "_test.go") {
				found = found || parsed.Name.Name != "main"
				continue
			}
			runs = runs || slices.ContainsFunc(doc.Examples(parsed), func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput })
		}
		if found {
			packages++
			assert.True(t, runs, "package %s has no example with output", name)
		}
		return nil
	}))
	assert.Greater(t, packages, 20, "the packages are there")
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

var (
	figure    = regexp.MustCompile(`×\d[\d.]*|\d[\d.]* (?:ns|us|µs|ms|GB/s|passed)\b`)
	inWords   = regexp.MustCompile(`\b(?:a|few|some|of|to|hundred) (?:nano|micro|milli)seconds?\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|\d+) times as (?:long|fast|slow)`)
	generated = regexp.MustCompile(`(?s)<!-- \w+: begin -->.*?<!-- \w+: end -->`)
)

// unmeasured returns the figures of a page, outside of the parts that a target of make writes, that are in none of those parts. Time in words is none that a
// target could have written.
func unmeasured(text, measured string) (problems []string) {
	text = prose(generated.ReplaceAllString(text, ""))
	for _, f := range figure.FindAllString(text, -1) {
		if !strings.Contains(measured, f) {
			problems = append(problems, f)
		}
	}
	return append(problems, inWords.FindAllString(text, -1)...)
}

// What a reader is told about times is what a target of make has measured, with the machine, the date and the versions beside it.
func TestFiguresAreMeasured(t *testing.T) {
	const performance = "docs/performance.md"
	m := module()
	text := string(must(fs.ReadFile(m, performance)))
	measured := strings.Join(generated.FindAllString(text, -1), "\n")
	require.Contains(t, measured, "ping-pong", "the tables are there")
	pages := []string{"README.md", "RATIONALE.md"}
	require.NoError(t, fs.WalkDir(m, "docs", func(name string, d fs.DirEntry, err error) error {
		if written := []string{"docs/apps.md", "docs/nvidia.md", "docs/torture.md"}; path.Ext(name) == ".md" && !slices.Contains(written, name) {
			pages = append(pages, name)
		}
		return err
	}))
	constants := map[string][]string{performance: {"200 us"}} // of how it is measured
	for _, page := range pages {
		for _, f := range unmeasured(string(must(fs.ReadFile(m, page))), measured) {
			assert.Contains(t, constants[page], f, "%s: no target of make writes this figure", page)
		}
	}

	// The one of the README, to the row that it is from.
	_, sentence, ok := strings.Cut(string(must(fs.ReadFile(m, "README.md"))), "ping-pong of 64 MiB")
	require.True(t, ok)
	sentence, _, _ = strings.Cut(sentence, "\n\n")
	_, row, ok := strings.Cut(measured, "| ping-pong, 64 MiB |")
	require.True(t, ok)
	row, _, _ = strings.Cut(row, "\n")
	figures := figure.FindAllString(sentence, -1)
	assert.NotEmpty(t, figures)
	for _, f := range figures {
		assert.Contains(t, row, f, "README.md")
	}
}

func TestUnmeasuredFiguresAreFound(t *testing.T) {
	for text, want := range map[string][]string{
		"it takes 3 ms":                          {"3 ms"},
		"it takes 5.7 ms (×2.1)":                 nil,
		"```\nit takes 3 ms\n```\n":              nil,
		"<!-- a: begin -->3 ms<!-- a: end -->":   nil,
		"tens of nanoseconds":                    {"of nanoseconds"},
		"it takes eight times as long, or twice": {"eight times as long"},
		"`check`: 173 passed":                    {"173 passed"},
	} {
		assert.Equal(t, want, unmeasured(text, "| 5.7 ms (×2.1) |"), text)
	}
}
