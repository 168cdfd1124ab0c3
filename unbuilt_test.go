package halyard

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/hal"
)

func TestMissingBuildTagsAreTold(t *testing.T) {
	host := []hal.Report{{Backend: "cuda", Err: hal.ErrNotBuilt}, {Backend: "host", Built: true}}
	none := func(string) bool { return false }
	amd := func(file string) bool { return file != "/dev/nvidia0" }
	assert.Empty(t, unbuiltText(host, none))
	assert.Equal(t, "this machine has a GPU (/dev/kfd), and the program has no backend for it: build it with -tags hip", unbuiltText(host, amd))
	assert.Empty(t, unbuiltText(append(host, hal.Report{Backend: "opencl", Built: true}), amd))
}
