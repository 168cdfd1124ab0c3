package hal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

const nothingCUDA = `extern "C" __global__ void nothing() {}`

func linked(name string) bool {
	for _, b := range driver.Backends() {
		if b.Name() == name {
			return true
		}
	}
	return false
}

func TestCompileForChecksWhatItIsAsked(t *testing.T) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	for what, c := range map[string]struct {
		ctx          context.Context
		target, text string
		want         error
	}{
		"no target":         {ctx, "", nothingCUDA, hal.ErrInvalidArgument},
		"no source":         {ctx, "sm_90", " \n", hal.ErrInvalidArgument},
		"an unknown target": {ctx, "avx512", nothingCUDA, hal.ErrUnsupported},
		"an ended context":  {over, "sm_90", nothingCUDA, hal.ErrNotReady},
	} {
		img, err := hal.CompileFor(c.ctx, c.target, hal.Source{Text: c.text})
		require.ErrorIs(t, err, c.want, what)
		var e *hal.Error
		require.ErrorAs(t, err, &e, what)
		assert.Equal(t, "compile", e.Op, what)
		assert.Zero(t, img.Format, what)
	}
	for target, backend := range map[string]string{"sm_90": "cuda", "compute_70": "cuda", "gfx942": "hip"} {
		if linked(backend) {
			continue
		}
		_, err := hal.CompileFor(ctx, target, hal.Source{Text: nothingCUDA})
		require.ErrorIs(t, err, hal.ErrNotBuilt)
		require.ErrorContains(t, err, "-tags "+backend)
	}
}

// slowCompiler looks at the source only when it is told to.
type slowCompiler struct {
	began, look chan struct{}
	headers     chan string
}

func (slowCompiler) CompilerID(string) (string, error) { return "slow", nil }

func (c slowCompiler) Compile(_ string, src *driver.Source) (*driver.Image, error) {
	close(c.began)
	<-c.look
	c.headers <- src.Headers["a.h"] + src.Options[0]
	return &driver.Image{}, nil
}

// A compiler that goes on after the context has ended does not look at maps and slices of the program, which may change them.
func TestCompileForKeepsNothingOfTheProgram(t *testing.T) {
	c := slowCompiler{make(chan struct{}), make(chan struct{}), make(chan string)}
	until, end := context.WithCancel(ctx)
	go func() { <-c.began; end() }()
	src := hal.Source{Text: nothingCUDA, Headers: map[string]string{"a.h": "text"}, Options: []string{"-x"}}
	_, err := hal.CompileWith(until, "compile", c, "sm_90", src)
	require.ErrorIs(t, err, hal.ErrNotReady)
	src.Headers["a.h"], src.Options[0] = "changed", "-y"
	close(c.look)
	require.Equal(t, "text-x", <-c.headers)
}
