package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
)

// Every device that there is takes part; more of them come with the build tags.
func TestEveryDevice(t *testing.T) {
	infos, err := hal.Devices(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	for _, info := range infos {
		t.Run(info.Name(), func(t *testing.T) {
			d, err := hal.Open(ctx, info.Name())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			for _, depth := range []int{1, 2, 5} {
				seen := 0
				require.NoError(t, pipeline.Run(ctx, d, 5000, numbers(100_000), duplicate, inOrder(&seen), pipeline.WithDepth(depth)))
				require.Equal(t, 100_000, seen)
			}
		})
	}
}
