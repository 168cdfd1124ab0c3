package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
)

// Step 0 of writing a backend, to the letter: the template is copied out of this module and renamed, the page's own commands make a module
// of it, and the suite passes there.
func TestTheTemplateIsCopied(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a module is built, and the suite run in it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "template"))))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	named := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		renamed := regexp.MustCompile(`(?m)^package template$`).ReplaceAllString(string(text), "package mine")
		require.NotEqual(t, string(text), renamed, "%s is of another package", file)
		if strings.Contains(renamed, `const name = "template"`) {
			renamed = strings.Replace(renamed, `const name = "template"`, `const name = "mine"`, 1)
			named++
		}
		require.NoError(t, os.WriteFile(file, []byte(renamed), 0o600))
	}
	require.Equal(t, 1, named, "one file has the backend's name")
	require.NoError(t, os.Rename(filepath.Join(dir, "template_test.go"), filepath.Join(dir, "mine_test.go")))

	page := read(t, "writing-a-backend.md")
	_, step, found := strings.Cut(page, "\n## 0. ")
	require.True(t, found)
	step, _, found = strings.Cut(step, "\nIt passes")
	require.True(t, found)
	commands := regexp.MustCompile(`(?m)^    go (.+)$`).FindAllStringSubmatch(step, -1)
	require.Len(t, commands, 4, "init, edit, tidy and test")
	for _, c := range commands {
		cmd := exec.Command("go", strings.Fields(strings.ReplaceAll(c[1], "=../halyard", "="+root))...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s\n%s", c[1], out)
	}

	// What the page shows is the go.mod that this has made, but for the version of Go and for where Halyard lies.
	made, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	_, shown, found := strings.Cut(step, "```\n")
	require.True(t, found)
	shown, _, found = strings.Cut(shown, "```")
	require.True(t, found)
	version := regexp.MustCompile(`(?m)^go .*$`)
	require.Equal(t, version.ReplaceAllString(shown, "go"),
		version.ReplaceAllString(strings.ReplaceAll(string(made), root, "../halyard"), "go"))
}

// The table of the harness has a row for each field that lets more checks run.
func TestEveryFieldOfTheHarnessIsExplained(t *testing.T) {
	page := read(t, "writing-a-backend.md")
	count := 0
	h := reflect.TypeFor[conformance.Harness]()
	for i := range h.NumField() {
		f := h.Field(i)
		k := f.Type.Kind()
		if k == reflect.Slice {
			k = f.Type.Elem().Kind()
		}
		if k != reflect.Func && k != reflect.Interface {
			continue
		}
		count++
		require.True(t, strings.Contains(page, "\n| `"+f.Name+"` |"), "no row for %s", f.Name)
	}
	require.Equal(t, 8, count, "fields that are functions, or a backend")
}
