package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/kernel"
)

// envFast is the environment variable that makes all kernels fast, to try what that gains.
const envFast = "HALYARD_FAST"

// kernelsOptions are the flags of kernels.
type kernelsOptions struct {
	check, verbose, ir bool
	print, ptx         string
}

func newKernels() *cobra.Command {
	o := &kernelsOptions{}
	cmd := &cobra.Command{
		Use:   "kernels [PACKAGE]...",
		Short: "Translate kernels that are written in Go",
		Long: `Translate the functions that are marked //halyard:kernel for devices. The translation is written
beside them, into a Go file PACKAGE_kernels.go, with one function for each kernel that launches it.
A test in PACKAGE_kernels_test.go fails if a kernel has changed since. Kernels whose threads the
processor can run as vectors have a function more, in PACKAGE_kernels_simd.go, which Go 1.27 and
later build with GOEXPERIMENT=simd. PACKAGE_kernels_vulkan.go has them as SPIR-V for devices of Vulkan,
and is built with the tag vulkan. Such files without kernels are removed.
A PACKAGE is named as for the go command: a folder such as ./physics, or a pattern such as ./... .
Without an argument, the package in the current folder is translated. The go command must be on the path.`,
		Example: `  halyard kernels ./physics
  halyard kernels --print ./physics
  halyard kernels --print=spirv ./physics
  halyard kernels --check ./...
  halyard kernels --ptx compute_70 ./physics`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.print, "print", "", "print the translation, and write nothing: `c`, or spirv for the modules of Vulkan")
	f.Lookup("print").NoOptDefVal = "c"
	f.BoolVar(&o.ir, "ir", false, "print the representation that translations are made of, and write nothing")
	f.StringVar(&o.ptx, "ptx", "", "also write PTX for NVIDIA's devices of an `architecture` and later, such as compute_70, made by NVRTC")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say for each kernel whether threads run as vectors on the host and what keeps them from it, which elements they use, and whether a launch can be cut")
	f.BoolVar(&o.check, "check", false, "write nothing; fail if a file differs from what would be written, and show how, or if it belongs to no kernel")
	return cmd
}

// valid refuses flags that do not go together, or whose values are not known.
func (o *kernelsOptions) valid() error {
	if o.print != "" && o.check {
		return usage("--print and --check cannot be used together")
	}
	if o.ir && (o.print != "" || o.check) {
		return usage("--ir cannot be used together with --print or --check")
	}
	if o.print != "" && o.print != "c" && o.print != "spirv" {
		return usage("--print=%s: write c or spirv", o.print)
	}
	if o.ptx != "" && !strings.HasPrefix(o.ptx, "compute_") {
		return usage("--ptx %s: name an architecture such as compute_70", o.ptx)
	}
	return nil
}

func (o *kernelsOptions) run(ctx context.Context, out io.Writer, patterns []string) error {
	if err := o.valid(); err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	fast := os.Getenv(envFast)
	if fast != "" && fast != "1" {
		return usage("%s=%s: write 1, so that all kernels are fast, or nothing", envFast, fast)
	}
	packages, err := translate.Load(ctx, dir, patterns...)
	var all load.Errors
	if errors.As(err, &all) {
		return report(out, all)
	}
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		return fmt.Errorf("no function is marked //halyard:kernel in %q", patterns)
	}
	for _, p := range packages {
		p.AllFast = p.AllFast || fast != ""
	}
	if o.ir {
		return represent(out, packages)
	}
	var outputs []*translate.Output
	for _, p := range packages {
		if o.ptx != "" {
			p.PTX = func(c string) (string, error) { return o.compile(ctx, p.Name, c) }
		}
		made, err := p.Translate()
		if found := (load.Errors)(nil); errors.As(err, &found) {
			all = append(all, found...)
		} else if err != nil {
			return err
		}
		outputs = append(outputs, made)
	}
	if len(all) > 0 {
		return report(out, all)
	}
	w := &writer{o: o, out: out, dir: dir}
	for _, made := range outputs {
		if err := w.output(made); err != nil {
			return err
		}
	}
	if w.stale {
		return errReported
	}
	return nil
}

// output writes, or prints, what was made of a package.
func (w *writer) output(made *translate.Output) error {
	for _, orphan := range made.Orphans {
		if err := w.remove(orphan); err != nil {
			return err
		}
	}
	if made.File == "" {
		return nil
	}
	if w.o.print != "" {
		text := made.C
		if w.o.print == "spirv" {
			text = made.Assembly
		}
		_, err := fmt.Fprint(w.out, text)
		return err
	}
	if err := errors.Join(w.write(made.File, made.Go), w.write(made.TestFile, made.Test), w.write(made.SIMDFile, made.SIMD), w.write(made.VulkanFile, made.Vulkan)); err != nil {
		return err
	}
	for _, warning := range made.Warnings {
		fmt.Fprintln(w.out, warning.Pos.String()+": warning: "+warning.Text)
	}
	if w.o.verbose {
		loops(w.out, made.Loops)
		footprints(w.out, made.Footprints)
	}
	return nil
}

// represent prints the representation of the kernels of packages.
func represent(out io.Writer, packages []*translate.Package) error {
	var all load.Errors
	for _, p := range packages {
		made, err := build.Program(p.Package)
		if found := (load.Errors)(nil); errors.As(err, &found) {
			all = append(all, found...)
			continue
		} else if err != nil {
			return err
		}
		if made != nil {
			if _, err := fmt.Fprintf(out, "// package %s\n\n%s\n", p.Name, made); err != nil {
				return err
			}
		}
	}
	if len(all) > 0 {
		return report(out, all)
	}
	return nil
}

// writer brings files up to date, or says how they differ.
type writer struct {
	o     *kernelsOptions
	out   io.Writer
	dir   string
	stale bool // a file differs
}

// remove removes a file that belongs to no kernel.
func (w *writer) remove(file string) error {
	switch {
	case w.o.print != "":
		return nil
	case w.o.check:
		fmt.Fprintf(w.out, "%s belongs to no kernel; run halyard kernels, which removes it\n", short(w.dir, file))
		w.stale = true
		return nil
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "removed %s\n", short(w.dir, file))
	return nil
}

// write writes a file, unless its text is nil.
func (w *writer) write(file string, text []byte) error {
	if text == nil {
		return nil
	}
	name := short(w.dir, file)
	old, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case w.o.check && err != nil:
		fmt.Fprintf(w.out, "%s does not exist; run halyard kernels\n", name)
		w.stale = true
		return nil
	case w.o.check:
		fmt.Fprintf(w.out, "%s is out of date; run halyard kernels\n%s", name, difference(name, string(old), string(text)))
		w.stale = true
		return nil
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "wrote %s\n", name)
	return nil
}

// loops says for each kernel how the host runs its threads.
func loops(out io.Writer, all []translate.Loop) {
	for _, l := range all {
		if l.Fast {
			fmt.Fprintf(out, "%s: %s is fast: devices may fuse products with sums, and approximate quotients and roots of float32\n", l.Pos, l.Kernel)
		}
		switch {
		case l.Vectors && l.Why != nil:
			fmt.Fprintf(out, "%s: this part of %s runs thread by thread on the host: %s\n", l.Why.Pos, l.Kernel, l.Why.Text)
			fallthrough
		case l.Vectors:
			fmt.Fprintf(out, "%s: %s runs as vectors on the host, in builds by Go 1.27 with GOEXPERIMENT=simd\n", l.Pos, l.Kernel)
		default:
			fmt.Fprintf(out, "%s: %s runs thread by thread on the host: %s\n", l.Why.Pos, l.Kernel, l.Why.Text)
		}
	}
}

// footprints says for each kernel which elements a thread uses, and whether a launch can be cut into parts for several devices.
func footprints(out io.Writer, all []translate.Footprint) {
	for _, f := range all {
		var dims []string
		for d, can := range f.Cut {
			if can {
				dims = append(dims, fmt.Sprintf("t.Global(%d)", d))
			}
		}
		cut := "can be cut along " + strings.Join(dims, " and ")
		if len(dims) == 0 {
			cut = "cannot be cut: " + f.Why
		}
		fmt.Fprintf(out, "%s: a launch of %s %s\n", f.Pos, f.Kernel, cut)
		for _, s := range f.Slices {
			fmt.Fprintf(out, "\t%s\n", s)
		}
	}
}

// short returns a path relative to the folder, if there is one.
func short(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}

// compile compiles a translation to PTX, with the options of a launch that compiles it.
func (o *kernelsOptions) compile(ctx context.Context, name, c string) (string, error) {
	img, err := hal.CompileFor(ctx, o.ptx, hal.Source{Name: name, Text: kernel.Prelude(hal.LanguageCUDA) + "#line 1\n" + c, Options: []string{"--fmad=false"}})
	if errors.Is(err, hal.ErrNotBuilt) {
		return "", fmt.Errorf("%w: --ptx needs a halyard command that is built with the tag cuda, for example by GOFLAGS=-tags=cuda go generate", err)
	}
	return strings.TrimRight(string(img.Data), "\x00"), err
}

// report prints the errors of a translation, one on each line.
func report(out io.Writer, all load.Errors) error {
	for _, e := range all {
		fmt.Fprintln(out, e)
	}
	return errReported
}
