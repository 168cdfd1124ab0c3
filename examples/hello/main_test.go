package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

func TestMain(m *testing.M) {
	os.Setenv(hal.EnvDevices, "host:0")
	os.Exit(m.Run())
}

func Example_main() {
	main()
	// Output: host:0 [12 24 36]
}

// The program in the README is this one, but for the line that runs the command: there it is a tool of the program's module.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, shown, ok := strings.Cut(string(readme), "```go\n")
	require.True(t, ok, "the README shows Go")
	shown, _, ok = strings.Cut(shown, "```\n")
	require.True(t, ok, "and the code has an end")
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, program, ok := strings.Cut(string(source), "\npackage main\n")
	require.True(t, ok)
	program = strings.Replace(program, "go run github.com/go-halyard/halyard/cmd/halyard", "go tool halyard", 1)
	require.Equal(t, "package main\n"+program, shown)
}
