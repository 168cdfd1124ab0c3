package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/testing/simgpu"
	"github.com/go-halyard/halyard/internal/testing/simnccl"
)

// product is one program that build puts into the folder.
type product struct {
	name   string
	args   []string // of go, before -o
	path   string
	linked bool // needs cgo and cuda.h
}

// The commands say which commit they are of, whatever GOFLAGS has.
var products = []product{
	{name: "nvidia-report", args: []string{"build", "-trimpath", "-buildvcs=auto"}, path: "./scripts/nvidia-report"},
	{name: "halyard", args: []string{"build", "-trimpath", "-buildvcs=auto", "-tags", "cuda opencl vulkan"}, path: "./cmd/halyard"},
	{name: "bench", args: []string{"build", "-trimpath", "-buildvcs=auto", "-tags", "cuda"}, path: "./bench/devices"},
	{name: "cuda.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./backends/cuda"},
	{name: "saxpy.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/saxpy"},
	{name: "matmul.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/gokernels/matmul"},
	{name: "nbody.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/gokernels/nbody"},
	{name: "radix.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/gokernels/radix"},
	{name: "cg.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/gokernels/cg"},
	{name: "parts.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./scripts/nvidia-report/parts"},
	{name: "nccl.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda hip"}, path: "./comm/nccl"},
	{name: "vulkan.test", args: []string{"test", "-c", "-trimpath", "-tags", "vulkan"}, path: "./backends/vulkan"},
	{name: "frontdoor", args: []string{"build", "-trimpath", "-buildvcs=auto", "-tags", "cuda opencl vulkan"}, path: "./bench/apps/frontdoor"},
	{name: "apps", args: []string{"build", "-trimpath", "-buildvcs=auto"}, path: "./bench/apps"},
	{name: linkedTest, args: []string{"test", "-c", "-trimpath", "-tags", "cuda linked"}, path: "./backends/cuda", linked: true},
}

const linkedTest = "cuda-linked.test"

// unbuilt is the ending of the file that the folder has in place of a program that could not be built. The file has the reason.
const unbuilt = ".unbuilt"

// buildOptions are the flags of build.
type buildOptions struct {
	linked    bool   // it is an error if the linked binding's tests cannot be built
	simulated bool   // also build the simulated driver and the simulated NCCL
	nvrtc     string // NVRTC's library, to be copied into the folder; if empty, what HALYARD_NVRTC_LIBRARY names, if anything
	nccl      string // NCCL's library, to be copied into the folder; if empty, what HALYARD_NCCL_LIBRARY names, if anything
}

// build builds the programs into the folder dir, from the module that the working directory is in.
func build(ctx context.Context, dir string, o buildOptions, log io.Writer) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if o.simulated {
		fmt.Fprintln(log, "building the simulated driver and the simulated NCCL")
		if err := simulate(dir); err != nil {
			return fmt.Errorf("simulated driver: %w", err)
		}
	}
	if err := takeNVRTC(dir, o.nvrtc, log); err != nil {
		return fmt.Errorf("NVRTC: %w", err)
	}
	if err := takeNCCL(dir, o.nccl, log); err != nil {
		return fmt.Errorf("NCCL: %w", err)
	}
	for _, p := range products {
		fmt.Fprintln(log, "building", p.name)
		to := filepath.Join(dir, p.name)
		if err := clean(to); err != nil {
			return err
		}
		err := p.build(ctx, root, to, log)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", p.name, err)
		if !p.linked || o.linked || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(log, "going on without %v\n", err)
		if err := os.WriteFile(to+unbuilt, []byte(err.Error()+"\n"), 0o644); err != nil {
			return err
		}
	}
	return takeApps(ctx, root, dir, log)
}

// appsFolder is where the folder has the source of the programs of bench/apps: those in Python run from it, and the lines of all are counted.
const appsFolder = "programs"

// takeApps copies the source of bench/apps, and builds its programs in C for OpenCL and CUDA. Without a compiler or a header there are none.
func takeApps(ctx context.Context, root, dir string, log io.Writer) error {
	from, to := filepath.Join(root, "bench", "apps"), filepath.Join(dir, appsFolder)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, folder := range []string{"c", "frontdoor", "numbacuda", "python"} {
		if err := os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			return err
		}
	}
	settings, err := linkedSettings()
	if err != nil {
		fmt.Fprintf(log, "going on without the programs in C: %v\n", err)
		return nil
	}
	cflags := strings.Fields(strings.TrimPrefix(settings[2], "CGO_CFLAGS="))
	ldflags := strings.Fields(strings.TrimPrefix(settings[3], "CGO_LDFLAGS="))
	for _, p := range []string{"cg", "heat", "nbody", "mandelbrot", "stream", "kmeans", "pathtracer"} {
		for prefix, args := range map[string][]string{
			"":      {"-l:libOpenCL.so.1"},
			"cuda-": slices.Concat([]string{"-DCUDA", "-include", "device_cuda.h"}, cflags, ldflags, []string{"-l:libcuda.so.1", "-ldl", "-Wl,--unresolved-symbols=ignore-all"}),
		} {
			if prefix != "" && (p == "kmeans" || p == "pathtracer") {
				continue // their kernels are OpenCL's
			}
			args = slices.Concat([]string{"-O2", "-I", "alone", "-o", filepath.Join(dir, prefix+p), p + ".c"}, args)
			cc := exec.CommandContext(ctx, "gcc", args...)
			cc.Dir = filepath.Join(to, "c")
			if text, err := cc.CombinedOutput(); err != nil {
				fmt.Fprintf(log, "going on without %s: %v: %s\n", prefix+p, err, lastLine(text))
			}
		}
	}
	return nil
}

// clean removes what an earlier build left, so that no old program passes for a new one.
func clean(path string) error {
	for _, p := range []string{path, path + unbuilt} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-halyard/halyard").Output()
	if err != nil {
		return "", fmt.Errorf("go list, in the working directory: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (p product) build(ctx context.Context, root, to string, log io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{}, p.args...), "-o", to, p.path)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if p.linked {
		settings, err := linkedSettings()
		if err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), settings...)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, &said)
	if err := cmd.Run(); err != nil {
		if why := lastLine(said.Bytes()); why != "" {
			return fmt.Errorf("%w: %s", err, why)
		}
		return err
	}
	return nil
}

// linkedSettings returns the environment in which the linked binding is built. CGO_CFLAGS and CGO_LDFLAGS take precedence. The
// program looks for libcuda.so.1 when it starts, so it can be linked against any library of that name. Without
// CGO_LDFLAGS it is linked against the simulated driver.
func linkedSettings() ([]string, error) {
	cflags, ldflags := os.Getenv("CGO_CFLAGS"), os.Getenv("CGO_LDFLAGS")
	for _, dir := range []string{os.Getenv("HALYARD_CUDA_INCLUDE"), "/usr/local/cuda/include", "/opt/cuda/include", "/usr/include"} {
		if _, err := os.Stat(filepath.Join(dir, "cuda.h")); dir != "" && err == nil {
			cflags += " -I" + dir
			break
		}
	}
	if !strings.Contains(cflags, "-I") {
		return nil, errors.New("there is no cuda.h; HALYARD_CUDA_INCLUDE can name its folder")
	}
	if os.Getenv("CGO_LDFLAGS") == "" {
		library, _, err := simgpu.Build(simulatedCache())
		if err != nil {
			return nil, fmt.Errorf("no library to link against: %w", err)
		}
		ldflags = "-L" + filepath.Dir(library)
	}
	return []string{"CGO_ENABLED=1", "GOOS=linux", "CGO_CFLAGS=" + strings.TrimSpace(cflags), "CGO_LDFLAGS=" + ldflags}, nil
}

// simulatedCache is where the tests keep the simulated drivers.
func simulatedCache() string { return filepath.Join(os.TempDir(), "halyard-simgpu") }

// simulatedLibrary and simulatedNCCL are the paths, in the folder, of the simulated driver and of the simulated NCCL. The latter needs the former.
var (
	simulatedLibrary = filepath.Join("simulated", "libcuda.so.1")
	simulatedNCCL    = filepath.Join("simulated", "libnccl.so.2")
)

func simulate(dir string) error {
	cuda, hip, err := simgpu.Build(simulatedCache())
	if err != nil {
		return err
	}
	nccl, _, err := simnccl.Build(simulatedCache(), cuda, hip)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(simulatedLibrary)), 0o755); err != nil {
		return err
	}
	return errors.Join(copyFile(filepath.Join(dir, simulatedLibrary), cuda), copyFile(filepath.Join(dir, simulatedNCCL), nccl))
}
