package hal

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/hal/driver"
)

// Blocks that are not asked for suit the shape of the grid, the threads that run in step, and the number of processors.
func TestSuggestedBlocks(t *testing.T) {
	gpu := driver.Compute{Warp: 32, Units: 132, MaxThreads: 1024, MaxBlock: [3]uint32{1024, 1024, 64}, MaxGrid: [3]uint32{1<<31 - 1, 65535, 65535}}
	kernel := KernelInfo{Suggested: 256, MaxThreads: 1024}
	for name, c := range map[string]struct {
		grid   Grid
		on     driver.Compute
		kernel KernelInfo
		want   [3]uint32
	}{
		"a long grid":                     {Over(1 << 20), gpu, kernel, [3]uint32{256, 1, 1}},
		"two blocks for each processor":   {Over(132 * 2 * 256), gpu, kernel, [3]uint32{256, 1, 1}},
		"one thread less":                 {Over(132*2*256 - 1), gpu, kernel, [3]uint32{128, 1, 1}},
		"a short grid":                    {Over(8192), gpu, kernel, [3]uint32{32, 1, 1}},
		"fewer threads than a warp":       {Over(5), gpu, kernel, [3]uint32{8, 1, 1}},
		"a picture":                       {Over(2048, 2048), gpu, kernel, [3]uint32{32, 8, 1}},
		"a narrow picture":                {Over(4, 1<<20), gpu, kernel, [3]uint32{4, 64, 1}},
		"a small picture":                 {Over(64, 64), gpu, kernel, [3]uint32{32, 1, 1}},
		"a volume":                        {Over(256, 256, 256), gpu, kernel, [3]uint32{32, 8, 1}},
		"given blocks":                    {Blocks(3), gpu, kernel, [3]uint32{256, 1, 1}},
		"a kernel of few threads":         {Over(1 << 20), gpu, KernelInfo{Suggested: 256, MaxThreads: 96}, [3]uint32{96, 1, 1}},
		"few threads, and a small grid":   {Over(8192), gpu, KernelInfo{Suggested: 256, MaxThreads: 96}, [3]uint32{96, 1, 1}},
		"a tall picture":                  {Over(64, 1_000_000), gpu, kernel, [3]uint32{32, 16, 1}},
		"a taller one":                    {Over(64, 4_000_000), gpu, kernel, [3]uint32{16, 64, 1}},
		"tall, and a kernel of few":       {Over(64, 1_000_000), gpu, KernelInfo{Suggested: 256, MaxThreads: 256}, [3]uint32{16, 16, 1}},
		"too tall":                        {Over(64, 100_000_000), gpu, kernel, [3]uint32{1, 1024, 1}},
		"a deep volume":                   {Over(256, 256, 200_000), gpu, kernel, [3]uint32{32, 8, 4}},
		"a long grid of a small device":   {Over(1 << 26), driver.Compute{MaxThreads: 1024, MaxGrid: [3]uint32{65535, 65535, 65535}}, kernel, [3]uint32{1024, 1, 1}},
		"a required block":                {Over(8192), gpu, KernelInfo{RequiredBlock: [3]uint32{64, 2, 1}}, [3]uint32{64, 2, 1}},
		"processors of an unknown number": {Over(8192), driver.Compute{Warp: 32, MaxThreads: 1024}, kernel, [3]uint32{256, 1, 1}},
		"a device whose threads do not run in step": {Over(2048, 2048), driver.Compute{Units: 8, MaxThreads: 4096}, KernelInfo{Suggested: 1024},
			[3]uint32{1024, 1, 1}},
		"few threads on processors":    {Over(1024), driver.Compute{Units: 2, MaxThreads: 4096}, KernelInfo{Suggested: 1024}, [3]uint32{256, 1, 1}},
		"few threads, many processors": {Over(1024), driver.Compute{Units: 64, MaxThreads: 4096}, KernelInfo{Suggested: 1024}, [3]uint32{16, 1, 1}},
	} {
		assert.Equal(t, c.want, c.grid.suggest(&c.kernel, &c.on), name)
	}
}
