package kernel_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// add launches a kernel as the functions of a generated file do.
func add(ctx context.Context, k *kernel.Kernel, s *hal.Stream, x, y *buffer.Buffer[uint32]) error {
//line site_kernels.go:7
	return k.Launch(ctx, s, hal.Over(4), kernel.In(x), kernel.Out(y))
//line site_test.go:27
}

// Activities of a launch name the kernel, and the line that called the function of the generated file.
func TestLaunchesAreReportedWhereTheProgramMadeThem(t *testing.T) {
	_, streams := devices(t, 1)
	x, y := made[uint32](t, 1, 2, 3, 4), made[uint32](t, 0, 0, 0, 0)
	k := program(t).Kernel("add")
	var all []buffer.Activity
	stop := buffer.Observe(func(e buffer.Activity) { all = append(all, e) })
	_, _, line, _ := runtime.Caller(0)
	require.NoError(t, add(ctx, k, streams[1], x, y))
	stop()
	require.NotEmpty(t, all)
	for _, e := range all {
		assert.Equal(t, "Launch add", e.Cause)
		assert.Regexp(t, fmt.Sprintf(`site_test\.go:%d$`, line+1), e.Site())
	}
}
