package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// product is one program of the folder.
type product struct {
	name   string
	args   []string // of go, before -o
	path   string
	linked bool // needs cgo and CUDA
}

var products = []product{
	{name: "nvidia-report", args: []string{"build", "-trimpath"}, path: "./scripts/nvidia-report"},
	{name: "halyard", args: []string{"build", "-trimpath", "-tags", "cuda"}, path: "./cmd/halyard"},
	{name: "cuda.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./backends/cuda"},
	{name: "ptx.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda"}, path: "./examples/ptx"},
	{name: "cuda-linked.test", args: []string{"test", "-c", "-trimpath", "-tags", "cuda linked"}, path: "./backends/cuda", linked: true},
}

// build fills the folder, from the module that the working directory is in.
func build(ctx context.Context, dir string, linked bool, log io.Writer) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("the working directory is in no module: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range products {
		if p.linked && !linked {
			continue
		}
		fmt.Fprintln(log, "building", p.name)
		args := append(append([]string{}, p.args...), "-o", filepath.Join(dir, p.name), p.path)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = string(root[:len(root)-1])
		cgo := "0"
		if p.linked {
			cgo = "1"
		}
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOOS=linux")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
