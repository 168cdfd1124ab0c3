package halyard

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
)

// unbuilt is for what a program says once.
var unbuilt sync.Once

// tellUnbuilt tells the user of a program that takes the host's device for want of build tags, though the machine has a GPU.
func tellUnbuilt(dev *hal.Device) {
	to := debug.Listener()
	if to == nil || dev == nil || dev.Info().Backend != "host" || os.Getenv(hal.EnvDevices) != "" {
		return
	}
	exists := func(file string) bool {
		_, err := os.Stat(file)
		return err == nil
	}
	if text := unbuiltText(hal.List(context.Background()), exists); text != "" {
		fmt.Fprintln(to, "halyard:", text)
	}
}

// unbuiltText says which backend a program lacks for a GPU of the machine, or nothing if it has a backend besides the host's.
func unbuiltText(reports []hal.Report, exists func(file string) bool) string {
	for _, r := range reports {
		if r.Built && r.Backend != "host" {
			return ""
		}
	}
	for _, gpu := range []struct{ file, tag string }{{"/dev/nvidia0", "cuda"}, {"/dev/kfd", "hip"}, {"/dev/dri/renderD128", "vulkan"}} {
		if exists(gpu.file) {
			return fmt.Sprintf("this machine has a GPU (%s), and the program has no backend for it: build it with -tags %s", gpu.file, gpu.tag)
		}
	}
	return ""
}
