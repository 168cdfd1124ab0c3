// Command sass counts the instructions of the hottest loops of some kernels, as NVIDIA's compiler makes them for sm_90. No GPU is needed.
//
// NVRTC compiles the C text of a kernel in the way in which programs compile it, and nvdisasm prints the machine code. The environment
// variable HALYARD_NVRTC_LIBRARY names NVRTC's library, and HALYARD_TEST_NVDISASM names nvdisasm; without it, nvdisasm must be in PATH.
// Both are in wheels of pip: nvidia-cuda-nvrtc-cu12 and nvidia-cuda-nvdisasm.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/kernel"
)

// target is the architecture that the kernels are compiled for.
const target = "sm_90"

// measured is a kernel whose instructions are counted.
type measured struct {
	name, folder, kernel string
	unit                 string // what the instructions are divided by
	mark                 string // an instruction that each unit has; "" if the whole kernel is one unit
	marks                int    // how often a unit has it
	fast                 bool   // the kernel is translated as a fast one
}

var kernels = []measured{
	{"n-body", "./bench/apps/frontdoor", "move", "interaction", "MUFU.RSQ", 1, false},
	{"k-means", "./examples/kmeans/lloyd", "add", "centre", "FMUL", 8, false},
	{"heat", "./bench/apps/frontdoor", "spread", "thread", "", 1, false},
	{"n-body, fast", "./bench/apps/frontdoor", "move", "interaction", "MUFU.RCP", 1, true},
}

// count is how many instructions there are for a number of units.
type count struct{ instructions, units int }

func (c count) perUnit() float64 { return float64(c.instructions) / float64(c.units) }

func main() {
	compiler, counts, err := measure(context.Background(), ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "sass:", err)
		os.Exit(1)
	}
	fmt.Println(compiler)
	for i, k := range kernels {
		c := counts[i]
		fmt.Printf("%-12s %6.2f instructions for each %s (%d for %d)\n", k.name, c.perUnit(), k.unit, c.instructions, c.units)
	}
}

// measure counts the instructions of all kernels, and returns the version of the compiler. The parameter root is the root of the
// repository. If a tool is missing, the error is an [exec.ErrNotFound] or a [driver.ErrUnavailable].
func measure(ctx context.Context, root string) (compiler string, counts []count, err error) {
	tool := os.Getenv("HALYARD_TEST_NVDISASM")
	if tool == "" {
		tool = "nvdisasm"
	}
	if tool, err = exec.LookPath(tool); err != nil {
		return "", nil, err
	}
	nvrtc, err := rtc.Load(rtc.NVRTC)
	if err != nil {
		return "", nil, err
	}
	id, err := nvrtc.ID(target)
	if err != nil {
		return "", nil, err
	}
	compiler, _, _ = strings.Cut(id, ";")
	for _, k := range kernels {
		c, err := k.measure(ctx, root, tool, nvrtc)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", k.name, err)
		}
		counts = append(counts, c)
	}
	return compiler, counts, nil
}

func (k measured) measure(ctx context.Context, root, tool string, nvrtc *rtc.Compiler) (c count, err error) {
	packages, err := translate.Load(ctx, root, k.folder)
	if err != nil {
		return c, err
	}
	packages[0].AllFast = k.fast
	made, err := packages[0].Translate()
	if err != nil {
		return c, err
	}
	text := kernel.Prelude(hal.LanguageCUDA) + made.C
	image, err := nvrtc.Compile(target, &driver.Source{Name: k.name, Text: text, Options: []string{"--fmad=false"}})
	if err != nil {
		return c, err
	}
	if text, err = disassembled(ctx, tool, image.Data); err != nil {
		return c, err
	}
	return k.count(text)
}

// disassembled returns the text of a cubin.
func disassembled(ctx context.Context, tool string, cubin []byte) (string, error) {
	dir, err := os.MkdirTemp("", "halyard-sass-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "k.cubin")
	if err := os.WriteFile(file, cubin, 0o600); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, tool, "-c", file).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", tool, err, out)
	}
	return string(out), nil
}

var (
	label       = regexp.MustCompile(`^(\.L\w+):`)
	instruction = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;`)
	branch      = regexp.MustCompile("\\bBRA\\b.*`\\((\\.L\\w+)\\)")
)

// count counts the instructions of a kernel. Without a mark, it counts all instructions up to the end of the kernel. Otherwise it takes a
// loop from its label to the branch that goes back there. Of several loops it takes the one with the most units, which is the unrolled
// one. If there are several, it takes the shortest.
func (k measured) count(text string) (best count, err error) {
	_, text, found := strings.Cut(text, "\n.text.k_"+k.kernel+":\n")
	if !found {
		return best, errors.New("the machine code has no such kernel")
	}
	text, _, _ = strings.Cut(text, "\n.text.")
	labels := map[string]int{}
	var list []string
	for line := range strings.Lines(text) {
		if m := label.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(list)
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		list = append(list, m[1])
		if k.mark == "" && m[1] == "EXIT" {
			return count{len(list), 1}, nil
		}
		to := branch.FindStringSubmatch(m[1])
		if to == nil || k.mark == "" {
			continue
		}
		if at, back := labels[to[1]]; back {
			units := strings.Count(strings.Join(list[at:], "\n"), k.mark) / k.marks
			if n := len(list) - at; units > best.units || units > 0 && units == best.units && n < best.instructions {
				best = count{n, units}
			}
		}
	}
	if best.units == 0 {
		return best, fmt.Errorf("no loop has %s %d times", k.mark, k.marks)
	}
	return best, nil
}
