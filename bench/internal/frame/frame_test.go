package frame

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type closer struct{ err error }

func (c closer) Close() error { return c.err }

// The first error comes first, whatever goes wrong when things are closed, and what is deferred runs.
func TestErrorsEndWhatIsDone(t *testing.T) {
	closed := errors.New("close")
	require.NoError(t, Do(func() { assert.Equal(t, 3, Get(3, nil)) }))
	require.ErrorIs(t, Do(func() { defer Close(closer{closed}) }), closed)
	ran := false
	err := Do(func() {
		defer func() { ran = true }()
		defer Close(closer{closed})
		defer Close(closer{})
		Get(0, io.EOF)
		t.Error("it went on")
	})
	assert.True(t, ran)
	assert.Equal(t, "EOF\nclose", err.Error())
	assert.PanicsWithValue(t, "other", func() {
		_ = Do(func() {
			defer Close(closer{closed})
			panic("other")
		})
	})
}

func TestReportsGoWhereTheyAreAskedFor(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	require.NoError(t, os.WriteFile(file, []byte("x <!-- a: begin -->old<!-- a: end --> y"), 0o600))
	require.NoError(t, Do(func() { Write(file, "a", "new"); JSON(filepath.Join(dir, "a.json"), 1); JSON("", 2) }))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "x <!-- a: begin -->\nnew<!-- a: end --> y", string(text))
	require.Error(t, Do(func() { Write(file, "b", "new") }))
	assert.Equal(t, "../a.svg", Relative("docs/a.md", "a.svg"))
	assert.Equal(t, "", Relative("docs/a.md", ""))
	assert.Equal(t, "docs/a.svg", Relative("", "docs/a.svg"))
}

func TestBesideDividesRoundByRound(t *testing.T) {
	assert.Equal(t, "10 ns | 20 ns | 2.00 | 0.50 - 4.00", Samples{20, 20, 40}.Beside(Samples{10, 40, 10}))
}

func TestOutputSaysWhyAProgramFailed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := Output(t.Context(), []string{"FRAME_TEST=x"}, self, "-test.run", "^$")
	require.NoError(t, err)
	assert.Contains(t, text, "PASS")
	_, err = Output(t.Context(), nil, self, "-no-such-flag")
	assert.ErrorContains(t, err, "exit status 2: ")
}
