package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// between is the text between two lines, each line without the indentation.
func between(t *testing.T, text, from, to, indent string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, from+"\n")
	require.True(t, ok, "no line %q", from)
	body, _, ok := strings.Cut(rest, "\n"+indent+to)
	require.True(t, ok, "no %q after %q", to, from)
	var lines []string
	for line := range strings.SplitSeq(body, "\n") {
		lines = append(lines, strings.TrimPrefix(line, indent))
	}
	return strings.Join(lines, "\n")
}

// The program in the README compiles, does what it says, and is this one.
func TestReadmeProgram(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	t.Setenv(hal.EnvDevices, "host:1")
	check := func(err error) { require.NoError(t, err) }

	// README begins
	ctx := context.Background()
	dev, err := hal.Default(ctx) // the first device that is not the host, else the host
	check(err)
	stream, err := dev.NewStream(hal.StreamOptions{})
	check(err)
	x, err := buffer.From([]float32{1, 2, 3, 4})
	check(err)
	lease, err := x.TryAcquire(stream, coherence.ReadWrite) // copies what the device lacks; does not wait
	check(err)
	check(stream.Fill(lease.Region(), hal.Pattern32(math.Float32bits(7)))) // or your kernel: lease.Pointer(), stream.Handle()
	check(lease.Release())                                                 // later accesses wait for this point of the stream
	check(x.View(ctx, func(s []float32) error {                            // waits, and copies back once
		fmt.Println(s)
		return nil
	}))
	// README ends

	check(x.View(ctx, func(s []float32) error {
		assert.Equal(t, []float32{7, 7, 7, 7}, s)
		return nil
	}))
	assert.EqualValues(t, 2*16, x.Stats().BytesCopied, "there and back")
	check(x.Close())
	check(stream.Close())
	check(dev.Close())

	readme, err := os.ReadFile("../../README.md")
	check(err)
	source, err := os.ReadFile("readme_test.go")
	check(err)
	assert.Equal(t, between(t, string(source), "\t// README begins", "// README ends", "\t"), between(t, string(readme), "```go", "```", ""))
}

// What the README says about environment variables covers all that the command's own packages read.
func TestReadmeNamesTheFlagsAndVariables(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, name := range []string{hal.EnvDevices, "HALYARD_HOST_DEVICES", "HALYARD_CUDA_LIBRARY", "HALYARD_HIP_LIBRARY",
		"HALYARD_OPENCL_LIBRARY", "HALYARD_OPENCL_MEMORY", "HALYARD_DEBUG", "HALYARD_REQUIRE"} {
		assert.Contains(t, string(readme), "| `"+name+"` |")
	}
	for _, link := range []string{"docs/coherence.svg", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md"} {
		assert.Contains(t, string(readme), link)
		_, err := os.Stat("../../" + link)
		assert.NoError(t, err, "the README leads there")
	}
}
