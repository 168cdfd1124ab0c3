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
