package archtest

import (
	"slices"
	"strings"
)

// Module is the path of the module that the rules are about.
const Module = "github.com/go-halyard/halyard"

// Rule says what the packages under one folder may import, beside the standard library.
type Rule struct {
	Folder string   // from the root of the module; the longest match counts
	Allow  []string // folders of the module, or import paths of other modules; a final "/..." includes the folders below, see allows
	Why    string
}

// Rules is the table. A package that no rule covers is a violation too.
var Rules = []Rule{
	{".", []string{"backends", "buffer", "buffer/trace", "coherence", "hal", "internal/callsite", "internal/debug", "internal/layer", "internal/parts", "kernel"}, "the short way stands on what programs use, launchers reach it by an interface, and parts takes the failures of its launches"},
	{"coherence", nil, "the names of the protocol need no device and no library"},
	{"hal/driver", nil, "a backend must be writable against the standard library alone"},
	{"hal", []string{"hal/driver", "hal/internal/...", "internal/callsite", "internal/layer/slot", "internal/layout", "internal/span"}, "what programs use needs only the narrow interface"},
	{"hal/internal/life", nil, "the life of an object needs no driver"},
	{"hal/internal/wait", []string{"hal/driver", "hal/internal/life", "internal/nap"}, "waiting knows drivers, and nothing of the checks above it"},
	{"hal/pool", []string{"hal", "hal/driver", "internal/layer"}, "a pool uses what programs use"},
	{"buffer", []string{"buffer/internal/...", "hal", "hal/pool", "coherence", "internal/..."}, "buffers know devices, their memory and the protocol, but no backend"},
	{"buffer/internal", nil, "a data structure needs the standard library alone"},
	{"buffer/internal/order", []string{"internal/span", "hal", "internal/layer"}, "the order of work is about streams and ranges of bytes, not about buffers"},
	{"buffer/internal/hostmem", []string{"buffer/internal/order", "buffer/internal/resident", "hal", "hal/pool", "internal/layer", "internal/pages"}, "the host's memory is about devices that use it, not about buffers"},
	{"buffer/internal/queue", []string{"internal/protocol", "internal/span"}, "who waits for whom is about ranges of bytes, not about buffers"},
	{"buffer/internal/resident", []string{"buffer/internal/order", "hal", "hal/pool", "internal/layer"}, "accounts and allocators know replicas by what they need of them, not buffers"},
	{"buffer/array", []string{"buffer", "hal", "coherence", "internal/layer", "internal/layout", "internal/npy"}, "what stands on buffers knows no backend"},
	{"buffer/dlpack", []string{"buffer", "buffer/array", "buffer/dlpack/...", "hal", "coherence", "internal/dl", "internal/layer"}, "what stands on buffers knows no backend"},
	{"buffer/encode", []string{"buffer", "hal", "coherence", "internal/layer", "internal/layout", "internal/npy"}, "what stands on buffers knows no backend"},
	{"buffer/trace", []string{"buffer", "hal", "internal/debug", "internal/layer", "internal/tracefile"}, "what stands on buffers knows no backend"},
	{"kernel", []string{"hal", "buffer", "coherence", "kernel/gridgen", "internal/crash", "internal/debug", "internal/kernelcache", "internal/layer", "internal/pages", "internal/parts", "internal/spirv", "internal/syntax"}, "what stands on buffers knows no backend"},
	{"kernel/lanes", []string{"kernel/grid"}, "it is what vectors are made of; grid.FMA says what it means"},
	{"kernel/grid", []string{"kernel", "kernel/gridgen", "internal/crash", "internal/debug"}, "the words in which kernels are written need no device"},
	{"kernel/gridgen", []string{"buffer", "hal", "internal/debug"}, "what generated files call needs no device"},
	{"kernel/half", nil, "it is translated for devices, which have nothing else"},
	{"kernel/algo", []string{"buffer", "hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes", "kernel/algo/..."}, "its kernels are written as in any program"},
	{"kernel/grid/rand", nil, "it is translated for devices"},
	{"internal/comm/driver", []string{"hal/driver"}, "an engine must be writable against the standard library and the kinds of error"},
	{"conformance/commtest", []string{"internal/comm/driver", "internal/comm/bugs"}, "it is an engine like any other"},
	{"internal/comm/bugs", nil, "it has names and nothing else"},
	{"comm", []string{"buffer", "coherence", "internal/comm/driver", "internal/nap"}, "it sends buffers, and does not know which library carries them"},
	{"comm/part", []string{".", "buffer", "coherence", "comm", "internal/comm/driver", "hal", "internal/layer", "internal/npy", "internal/parts",
		"internal/protocol", "kernel"}, "it divides buffers and launches, and does not know which library carries the ghosts"},
	{"comm/mpi", []string{"internal/comm/driver", "internal/..."}, "an engine does not know that buffers exist"},
	{"comm/nccl", []string{"buffer", "coherence", "comm", "internal/comm/driver", "hal", "internal/dl", "internal/nap", "internal/siglib", "kernel/half"}, "what works on buffers and streams knows no backend, and finds its library while the program runs"},
	{"internal/comm/conformance", []string{"internal/comm/driver"}, "the suite is for everyone's engines, so it imports none"},
	{"conformance/vulkan", []string{"internal/spirv/build"}, "what makes the suite's kernels"},
	{"conformance", []string{"hal", "hal/driver", "hal/pool", "buffer", "kernel", "coherence", "internal/model", "internal/protocol", "internal/spirv"}, "the suite is for everyone's backends, so it imports none"},
	{"backends", []string{"backends/..."}, "the selection links backends and does nothing else"},
	{"backends/host", []string{"hal/driver", "internal/..."}, "a backend does not know that buffers exist"},
	{"backends/cuda", []string{"hal/driver", "internal/...", "gorgonia.org/cu"}, "a backend does not know that buffers exist"},
	{"backends/hip", []string{"hal/driver", "internal/..."}, "a backend does not know that buffers exist"},
	{"backends/opencl", []string{"hal/driver", "internal/...", "github.com/go-gl/cl/..."}, "a backend does not know that buffers exist"},
	{"backends/vulkan", []string{"hal/driver", "internal/..."}, "a backend does not know that buffers exist"},
	{"internal", []string{"internal/...", "hal/driver", "github.com/ebitengine/purego", "golang.org/x/sys/..."},
		"what backends share lies below the packages that programs use"},
	{"internal/parts", []string{"buffer", "coherence", "hal", "internal/layer/slot"}, "it gives package kernel what programs do not get of buffers"},
	{"internal/layer", []string{"hal", "internal/layer/slot"}, "it gives the packages above hal functions that programs do not get"},
	{"internal/layer/slot", nil, "hal and buffer import it"},
	{"internal/layout", nil, "hal and buffer import it"},
	{"internal/model", []string{"buffer", "coherence", "hal"}, "it uses a buffer as programs do"},
	{"internal/npy", []string{"hal"}, "a file of NumPy's needs no buffer"},
	{"internal/spirv", nil, "kernel and the command use it"},
	{"internal/spirv/build", []string{"internal/spirv"}, "the command alone makes modules"},
	{"internal/translate/load", nil, "what a package is does not depend on what is made of it"},
	{"internal/translate/build", []string{"internal/translate/load", "internal/translate/ir", "internal/translate/facts"}, "it knows Go's syntax, and no printer"},
	{"internal/translate/ir", []string{"kernel/grid"}, "what kernels mean depends neither on Go's syntax nor on a target; grid.FMA says what it means"},
	{"internal/translate/ir/interp", []string{"internal/translate/ir"}, "it is the meaning of the representation alone"},
	{"internal/translate/facts", []string{"internal/translate/ir"}, "what is known about kernels is known from their representation"},
	{"internal/translate/edges", []string{"internal/translate/facts", "internal/translate/ir"}, "what the threads of a row share is known from the representation"},
	{"internal/translate/lanes", []string{"internal/translate/edges", "internal/translate/facts", "internal/translate/ir"}, "a printer knows the representation and no other printer"},
	{"internal/translate/quirks", []string{"internal/translate/edges", "internal/translate/facts", "internal/translate/ir"}, "faults of compilers are avoided by places and regions, before anything is printed"},
	{"internal/translate/cprint", []string{"internal/translate/facts", "internal/translate/ir", "internal/translate/quirks"}, "a printer knows the representation and no other printer"},
	{"internal/translate/passes", []string{"internal/translate/facts", "internal/translate/ir"}, "a pass changes the representation, and knows no printer"},
	{"internal/translate/spirv", []string{"internal/translate/ir", "internal/translate/facts", "internal/spirv", "internal/spirv/build"},
		"a printer knows the representation and no other printer"},
	{"internal/tracefile", []string{"buffer", "hal", "internal/protocol"}, "it is the format of what buffer/trace writes, for the command and for tests too"},
	{"internal/testing", testSupport, "for tests, which may use what stands above the backends"},
	{"internal/testing/path/measured", []string{"..."}, "it makes calls as any program does"},
	{"internal/testing/mutants/made", []string{"..."}, "it breaks backends by a layer around them"},
	{"internal/testing/sass", []string{"hal", "hal/driver", "internal/...", "kernel"}, "it compiles kernels as programs do"},
	{"internal/testing/atomics", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen"}, "kernels are written as in any program"},
	{"internal/testing/everydevice", []string{"..."}, "tests are written as programs are"},
	{"internal/testing/around", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/divided", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/generic", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen"}, "kernels are written as in any program"},
	{"internal/testing/parts", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen"}, "kernels are written as in any program"},
	{"internal/testing/tables", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen"}, "kernels are written as in any program"},
	{"internal/testing/programs", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen"}, "kernels are written as in any program"},
	{"internal/testing/limits", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/random", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/grid/rand"}, "kernels are written as in any program"},
	{"internal/testing/small", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/prints", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/sized", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/waits", []string{"hal", "kernel", "kernel/grid", "kernel/gridgen", "kernel/half", "kernel/lanes"}, "kernels are written as in any program"},
	{"internal/testing/tracecheck", nil, "a format is checked by the standard library alone"},
	{"internal/protocol", []string{"coherence"}, "the state machine is pure: it knows no device and no library"},
	{"internal/protocol/diagram", []string{"internal/protocol", "internal/svg"}, "it draws the table and does nothing else"},
	{"internal/svg", nil, "drawing does not depend on what is drawn"},
	{"internal/testing/dlpacktest/shared", []string{"buffer", "buffer/array", "buffer/dlpack", "hal", "coherence", "backends/host"},
		"a library for tests that is made as any program makes one"},
	{"cmd", []string{"hal", "hal/driver", "hal/pool", "buffer", "buffer/trace", "kernel", "coherence", "conformance", "backends", "comm/...", "internal/...",
		"github.com/spf13/cobra", "github.com/jedib0t/go-pretty/v6/..."}, "the command uses what any program can"},
	{"scripts", []string{"hal", "hal/driver", "buffer", "coherence", "conformance", "backends", "internal/...", "internal/testing/..."}, "a tool uses what any program can"},
	{"examples", []string{"..."}, "an example is a program like any other"},
	{"examples/template", []string{"hal/driver"}, "copies of it lie in other modules"},
	{"bench", []string{"..."}, "what is measured here are programs like any other"},
	{"bench/internal/timing", nil, "measuring does not depend on what is measured"},
	{"bench/internal/peer", []string{"internal/dl"}, "the raw side of a comparison is nothing but the vendor's calls"},
	{"bench/internal/chart", []string{"internal/svg"}, "drawing does not depend on what is drawn"},
}

// testSupport is what packages for tests may import. Closures keeps backends from reaching these packages.
var testSupport = []string{"internal/...", "internal/testing/...", "hal", "hal/driver", "hal/pool", "buffer", "coherence", "conformance",
	"github.com/stretchr/testify/...", "pgregory.net/rapid"}

// Closures limits what a package may reach through any number of imports inside the module.
var Closures = []Rule{
	{"hal", []string{"hal/driver", "hal/internal/...", "internal/callsite", "internal/layer/slot", "internal/layout", "internal/nap", "internal/span"}, "a program that uses only devices links nothing else"},
	{"buffer", []string{"buffer/internal/...", "hal", "hal/driver", "hal/internal/...", "hal/pool", "coherence", "internal/..."}, "a program that uses buffers links no other module"},
	{"kernel", []string{"buffer", "buffer/internal/...", "hal", "hal/driver", "hal/internal/...", "hal/pool", "coherence", "kernel/gridgen", "internal/..."}, "a program that launches kernels links no other module"},
	{"backends/host", []string{"hal/driver", "internal/..."}, "a backend reaches nothing above hal/driver"},
	{"backends/cuda", []string{"hal/driver", "internal/..."}, "a backend reaches nothing above hal/driver"},
	{"backends/hip", []string{"hal/driver", "internal/..."}, "a backend reaches nothing above hal/driver"},
	{"backends/opencl", []string{"hal/driver", "internal/..."}, "a backend reaches nothing above hal/driver"},
	{"backends/vulkan", []string{"hal/driver", "internal/..."}, "a backend reaches nothing above hal/driver"},
}

// ruleFor returns the rule with the longest folder that dir lies in.
func ruleFor(rules []Rule, dir string) *Rule {
	var best *Rule
	for i, r := range rules {
		if (dir == r.Folder || strings.HasPrefix(dir, r.Folder+"/")) && (best == nil || len(r.Folder) > len(best.Folder)) {
			best = &rules[i]
		}
	}
	return best
}

// allows reports whether the target, a folder of the module or another import path, is in the list. "..." allows everything, and
// "internal/..." does not include internal/testing.
func (r *Rule) allows(target string) bool {
	if target == "" {
		target = "." // the root of the module
	}
	return slices.ContainsFunc(r.Allow, func(a string) bool {
		if a == "..." {
			return true
		}
		base, below := strings.CutSuffix(a, "/...")
		if base == "internal" && strings.HasPrefix(target, "internal/testing/") {
			return false // no program contains packages for tests
		}
		return target == base || below && strings.HasPrefix(target, base+"/")
	})
}
