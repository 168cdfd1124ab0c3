package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

func TestMain(m *testing.M) {
	os.Setenv("HALYARD_HOST_DEVICES", "1")
	os.Setenv(hal.EnvDevices, "host:1")
	os.Exit(m.Run())
}

// What the program does on a device with memory of its own: of 4 MiB the 1000 elements that it wrote come back.
func Example_main() {
	main()
	// Output:
	// 0 7 7 0
	// 4000 of 4194304 bytes were copied
}

// The program in the README is this one.
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
	require.Equal(t, "package main\n"+program, shown)
}
