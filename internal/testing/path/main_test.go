package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/path/hook"
)

func TestReturns(t *testing.T) {
	assert.Equal(t, 0, returns([]string{"a", "a", "b", "b", "c"}))
	assert.Equal(t, 2, returns([]string{"a", "b", "a", "a", "c", "b"}))
	assert.Equal(t, []string{"buffer/x.go"}, inside([]int{2, 0}, []string{"hal/a.go", "hal/b.go", "buffer/x.go"}, "buffer/"))
}

// Every function with a body says that it is entered, on the line where it was, and what may not grow the stack does not.
func TestFunctionsAreHooked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	const source = "package p\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n\n//go:nosplit\nfunc g() {}\n\nfunc h()\n\n" +
		"func (t *T) m() int {\n\treturn 1\n}\n"
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	text, functions, err := hooked(file, 5)
	require.NoError(t, err)
	assert.Equal(t, []string{"f", "T.m"}, functions)
	assert.Equal(t, "package p; import path_ \"github.com/go-halyard/halyard/internal/testing/path/hook\"\n\nimport \"fmt\"\n\n"+
		"func f() { path_.In(5); fmt.Println() }\n\n//go:nosplit\nfunc g() {}\n\nfunc h()\n\n"+
		"func (t *T) m() int { path_.In(6);\n\treturn 1\n}\n", string(text))
	_, err = parser.ParseFile(token.NewFileSet(), "", text, 0)
	assert.NoError(t, err)
}

// Functions are noted once, between Begin and End; those of other goroutines are not the caller's own.
func TestEntries(t *testing.T) {
	hook.In(1)
	hook.Begin()
	hook.In(2)
	done := make(chan bool)
	go func() {
		hook.In(3)
		close(done)
	}()
	<-done
	hook.In(4)
	hook.In(2)
	entries := hook.End()
	hook.In(5)
	assert.Equal(t, hook.Entries{All: []int{2, 3, 4}, Own: []int{2, 4}}, entries)
}
