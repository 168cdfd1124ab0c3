package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
)

// kernelsOfPrograms has the SPIR-V of the programs' kernels, as the command halyard wrote it.
const kernelsOfPrograms = "bench/apps/frontdoor/main_kernels_vulkan.go"

// programs measures a step of heat and of conjugate gradients. A round runs each program once, on the device as it is. The program in C submits
// a command buffer for each step, or all steps of a run as one, or again and again a command buffer of two steps, which it recorded once. Beside
// the last is Halyard's recorded step. The results have to have the same bits.
func (s *samples) programs(ctx context.Context, folder string, rounds int) (err error) {
	temp, err := os.MkdirTemp("", "halyard-vulkan")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := unpackKernels(temp); err != nil {
		return err
	}
	in, outs := filepath.Join(temp, "in"), [2]string{filepath.Join(temp, "c"), filepath.Join(temp, "halyard")}
	for _, size := range []struct{ n, steps int }{{64, 400}, {256, 100}} {
		numbers := make([]float32, size.n*size.n)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range numbers {
			numbers[i] = rng.Float32()
		}
		var data bytes.Buffer
		if err := errors.Join(binary.Write(&data, binary.NativeEndian, numbers), os.WriteFile(in, data.Bytes(), 0o600)); err != nil {
			return err
		}
		steps := strconv.Itoa(size.steps)
		for range rounds {
			for _, app := range []string{"heat", "cg"} {
				for _, row := range []struct{ name, way, ours string }{
					{"a command buffer each", "1", app}, {"one command buffer", steps, app}, {"recorded once", "repeated", app + "-recorded"},
				} {
					of := []string{strconv.Itoa(size.n), steps, "5", in}
					ways := [2][]string{
						append(append([]string{filepath.Join(folder, "vulkan-apps"), app}, of...), outs[0], os.Getenv("HALYARD_VULKAN_LIBRARY"), temp, row.way),
						append(append([]string{"env", "-u", "HALYARD_VULKAN_MEMORY", filepath.Join(folder, "vulkan-frontdoor"), row.ours}, of...), outs[1], "llvmpipe"),
					}
					var results [2][]byte
					for side, args := range ways {
						text, err := output(ctx, args...)
						if err != nil {
							return err
						}
						ns, err := leastOf(text)
						if err != nil {
							return fmt.Errorf("%s: %w", args, err)
						}
						s.add(fmt.Sprintf("%s %d × %d, a step; %s", app, size.n, size.n, row.name), side, ns/float64(size.steps))
						if results[side], err = os.ReadFile(outs[side]); err != nil {
							return err
						}
					}
					if !bytes.Equal(results[0], results[1]) {
						return fmt.Errorf("%s of %d: the results differ", app, size.n)
					}
				}
			}
		}
	}
	return nil
}

// leastOf returns the least time of the runs that a program prints.
func leastOf(text string) (least float64, err error) {
	for line := range strings.Lines(text) {
		var run struct{ NS float64 }
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			return 0, err
		}
		if run.NS > 0 && (least == 0 || run.NS < least) {
			least = run.NS
		}
	}
	if least == 0 {
		return 0, errors.New("no time was printed")
	}
	return least, nil
}

// unpackKernels writes a file with SPIR-V for each kernel.
func unpackKernels(folder string) error {
	text, err := os.ReadFile(kernelsOfPrograms)
	if err != nil {
		return err
	}
	var unpacker spirv.Unpacker
	for _, m := range regexp.MustCompile("(?:\"(\\w+)\": {Words|Checked|Watched): `([^`]*)`").FindAllSubmatch(text, -1) {
		code, err := unpacker.Unpack(string(m[2]))
		if err != nil {
			return err
		}
		if m[1] == nil { // it is checked or watched
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, string(m[1])+".spv"), code, 0o600); err != nil {
			return err
		}
	}
	return nil
}
