package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/format"
	"go/types"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv/build"
)

// VulkanName returns the name of the generated file with SPIR-V of a package with that name.
func VulkanName(pkg string) string { return pkg + "_kernels_vulkan.go" }

// Entry is a kernel that [Package.Modules] makes modules of.
type Entry struct {
	Kernel string // its name in Go
	Name   string // that of the entry point
	Loops  bool   // it has loops that a device may end
}

// Modules are those of a kernel.
type Modules struct {
	Plain, Checked *build.Module // the second reports indexes out of range
	Watched        *build.Module // reports whether the device has ended a loop; nil if it cannot
}

// vulkanNeeds are the features that not every device has, with the words for what uses them.
var vulkanNeeds = []struct {
	capability     uint32
	feature, words string
}{
	{build.Float64, "shaderFloat64", "float64"},
	{build.Int64, "shaderInt64", "int, which has 64 bits"},
	{build.Int64Atomics, "shaderBufferInt64Atomics", "atomic operations of 64 bits"},
	{build.Int8, "shaderInt8", "integers of 8 bits"}, {build.Storage8, "storageBuffer8BitAccess", "integers of 8 bits"},
	{build.Push8, "storagePushConstant8", "integers of 8 bits"},
	{build.Int16, "shaderInt16", "integers of 16 bits"}, {build.Storage16, "storageBuffer16BitAccess", "integers of 16 bits"},
	{build.Push16, "storagePushConstant16", "integers of 16 bits"},
}

// sumOf returns the sum of a text.
func sumOf(c string) string {
	whole := sha256.Sum256([]byte(c))
	return hex.EncodeToString(whole[:8])
}

// vulkan sets the file that gives the program its kernels for devices of Vulkan, and their modules as text.
func (p *Package) vulkan(made *Output, g *program) error {
	if p.Modules == nil {
		return nil
	}
	var entries []Entry
	for _, f := range g.made {
		entries = append(entries, Entry{f.decl.Name.Name, f.c, f.looped.most != nil})
	}
	all, err := p.Modules(p, g.sites, entries)
	if err != nil {
		return err
	}
	made.modules = map[string]Modules{}
	var b, text strings.Builder
	fmt.Fprintf(&b, "%s\n\n//go:build vulkan\n\npackage %s\n\nimport \"github.com/go-halyard/halyard/kernel\"\n\n", generatedBy, p.Name)
	fmt.Fprintf(&b, "func init() {\n\t%s.Compiled(%q, map[string]kernel.Code{\n", p.free("program", "kernels"), sumOf(made.C))
	for i, f := range g.made {
		m, name := all[i], f.decl.Name.Name
		made.modules[f.c] = m
		plain := m.Plain.Words()
		fmt.Fprintf(&b, "\t\t%q: {Words: `\n%s`, Checked: `\n%s`,", name, build.Pack(plain), build.Pack(m.Checked.Words()))
		if m.Watched != nil {
			fmt.Fprintf(&b, " Watched: `\n%s`,", build.Pack(m.Watched.Words()))
		}
		b.WriteString(" Needs: map[string]string{\n")
		for _, n := range vulkanNeeds {
			if m.Plain.Needs(n.capability) {
				fmt.Fprintf(&b, "\t\t\t%q: %q,\n", n.feature, f.use(n.capability, n.words))
			}
		}
		b.WriteString("\t\t}},\n")
		fmt.Fprintf(&text, "; kernel %s\n%s", name, build.Text(plain))
	}
	b.WriteString("\t})\n}\n")
	if made.Vulkan, err = format.Source([]byte(b.String())); err != nil {
		return fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	made.Assembly = text.String()
	return nil
}

// use says where the kernel first uses what a capability is for; if that is not known, where the kernel is.
func (f *function) use(capability uint32, words string) string {
	at, bits := f.decl.Pos(), 0
	switch capability {
	case build.Int64Atomics:
		at = f.atomic64
	case build.Float64:
		bits = 64
		if f.float64.IsValid() {
			at = f.float64
		} else if f.inexact.IsValid() {
			at, words = f.inexact, "a function of package math, which is computed in float64"
		}
	case build.Int8, build.Storage8, build.Push8:
		bits = 8
	case build.Int16, build.Storage16, build.Push16:
		bits = 16
	}
	for _, m := range f.params {
		t := m.typ
		if m.kind == slice || m.kind == matrix {
			t = elem(m)
		}
		if m.kind != thread && hasNumber(t, func(n number) bool { return n.bits == bits && n.float == (bits == 64) }) {
			at = m.pos
			break
		}
	}
	return fmt.Sprintf("%s (%s)", words, f.p.own.line(at))
}

// hasNumber reports whether a type has a number in it for which is returns true.
func hasNumber(t types.Type, is func(number) bool) bool {
	if n, ok := numberOf(t); ok {
		return is(n)
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return hasNumber(u.Elem(), is)
	case *types.Struct:
		for v := range u.Fields() {
			if hasNumber(v.Type(), is) {
				return true
			}
		}
	}
	return false
}
