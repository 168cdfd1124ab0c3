package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const staleProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

const factor = 2

func times(x int32) int32 { return factor * x }

//halyard:kernel
func double(t grid.Thread, x []int32) {
	if i := t.Global(0); i < len(x) {
		x[i] = times(x[i])
	}
}

func main() {
	q := halyard.Open(context.Background(), "host")
	x := halyard.From(q, []int32{1, 2})
	Double(q, x)
	fmt.Println(x)
	if err := q.Close(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
`

// After a change of a kernel, or of what it uses, tests and the first launch fail, and say what to run. A program that was compiled
// before goes on.
func TestStaleKernels(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to compile programs with")
	}
	dir, err := os.MkdirTemp(".", "_stale-") // in this module, and in no pattern of the go command
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	source := filepath.Join(dir, "main.go")
	write := func(text string) { require.NoError(t, os.WriteFile(source, []byte(text), 0o600)) }
	in := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	generate := func() {
		var out bytes.Buffer
		require.Equal(t, exitPassed, run(t.Context(), []string{"kernels", "./" + filepath.Base(dir)}, &out, &out), out.String())
	}
	launches := func(want string) {
		out, err := in("go", "run", "-ldflags", "-s -w", ".")
		require.NoError(t, err, out)
		require.Equal(t, want, out)
	}
	tested := func(as string) {
		out, err := in("go", "test", "-vet=off", ".")
		if as == "" {
			require.NoError(t, err, out)
			return
		}
		require.Error(t, err, out)
		want := regexp.QuoteMeta(as)
		if !strings.Contains(as, " ") {
			want += ` has changed since main_kernels\.go was written from .*main\.go`
		}
		assert.Regexp(t, `TestKernelsAreTranslated.*\n.*: `+want+`; run go generate`, out)
	}

	write(staleProgram)
	generate()
	tested("")
	out, err := in("go", "build", "-ldflags", "-s -w", "-o", "program", ".")
	require.NoError(t, err, out)
	out, err = in("./program")
	require.NoError(t, err, out)
	require.Equal(t, "[2 4]\n", out)

	changed := strings.Replace(staleProgram, "factor = 2", "factor = 3", 1)
	write(changed)
	out, err = in("go", "run", "-ldflags", "-s -w", ".")
	require.Error(t, err, out)
	assert.Regexp(t, `^\[no elements: [^\n]*\]\n\S*main\.go:26: launch: invalid argument: factor has changed since main_kernels\.go was written from .*main\.go; `+
		`run go generate, or go tool halyard kernels`, out)
	tested("factor")
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(source, later, later))
	out, err = in("./program") // the change came after it was compiled
	require.NoError(t, err, out)
	require.Equal(t, "[2 4]\n", out)

	write(strings.Replace(staleProgram, "if i :=", "// Threads beyond the end do nothing.\n\tif  i :=", 1) + "\nvar Unused = 1\n")
	launches("[2 4]\n")
	write(strings.Replace(staleProgram, "i < len(x)", "i+1 < len(x)", 1))
	tested("double")

	const mark = "//halyard:kernel fast\n\n"
	write(mark + staleProgram) // a mark for all kernels
	tested("halyard:kernel is declared there, and kernels that main_kernels.go has would mean it")
	generate()
	tested("")
	write(staleProgram)
	tested("halyard:kernel")

	write(changed)
	generate()
	launches("[3 6]\n")
	write(staleProgram)
	out, err = in("./program") // another one was compiled from what is there now
	require.NoError(t, err, out)
	require.Equal(t, "[2 4]\n", out)
}
