package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/internal/translate/spirv"
	"github.com/go-halyard/halyard/internal/translate/vulkan"
)

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

// sumOf returns a hash of a text.
func sumOf(c string) string {
	whole := sha256.Sum256([]byte(c))
	return hex.EncodeToString(whole[:8])
}

// vulkan sets the file that gives the program its kernels for devices of Vulkan, and their modules as text. The parameter devices is the
// program as devices get it: see package passes.
func (p *Package) vulkan(made *Output, devices *ir.Program, kernels []*function, sites []string) error {
	made.modules = map[string]vulkan.Modules{}
	var b, text strings.Builder
	fmt.Fprintf(&b, "%s\n\n//go:build vulkan\n\npackage %s\n\nimport \"github.com/go-halyard/halyard/kernel/gridgen\"\n\n", load.GeneratedBy, p.Name)
	fmt.Fprintf(&b, "func init() {\n\t%s.Compiled(%q, map[string]gridgen.Code{\n", p.free("program", "kernels"), sumOf(made.C))
	var packer build.Packer
	for _, f := range slices.SortedFunc(slices.Values(kernels), func(a, b *function) int { return strings.Compare(p.name(a), p.name(b)) }) {
		m, err := vulkan.ModulesOf(devices, f.printed, spirv.Options{Entry: cprint.Entry(f.made), Loops: f.rounds() != "", Sites: sites, Narrow: p.narrow})
		if err != nil {
			return err
		}
		name := p.name(f)
		made.modules[cprint.Entry(f.made)] = m
		plain := m.Plain.Words()
		fmt.Fprintf(&b, "\t\t%q: {Words: `\n%s`, Checked: `\n%s`,", name, packer.Pack(plain), packer.Pack(m.Checked.Words()))
		if m.Watched != nil {
			fmt.Fprintf(&b, " Watched: `\n%s`,", packer.Pack(m.Watched.Words()))
		}
		b.WriteString(" Needs: map[string]string{\n")
		for _, n := range vulkanNeeds {
			if m.Plain.Needs(n.capability) {
				fmt.Fprintf(&b, "\t\t\t%q: %q,\n", n.feature, p.use(f, n.capability, n.words))
			}
		}
		b.WriteString("\t\t}},\n")
		fmt.Fprintf(&text, "; kernel %s\n%s", name, build.Text(plain))
	}
	b.WriteString("\t})\n}\n")
	var err error
	if made.Vulkan, err = format.Source([]byte(b.String())); err != nil {
		return fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	made.Assembly = text.String()
	return nil
}

// use says where the kernel first uses what a capability is for; if that is not known, where the kernel is.
func (p *Package) use(f *function, capability uint32, words string) string {
	at, bits := f.decl.Pos(), 0
	switch capability {
	case build.Int64Atomics:
		at = f.needs.Atomic64
	case build.Float64:
		if f.needs.Float64.IsValid() {
			at = f.needs.Float64
		} else if f.needs.Inexact.IsValid() {
			at, words = f.needs.Inexact, "a function of package math, which is computed in float64"
		}
	case build.Int8, build.Storage8, build.Push8:
		bits = 8
	case build.Int16, build.Storage16, build.Push16:
		bits = 16
	}
	for _, m := range f.made.Params {
		if m.Type.Has(func(t *ir.Type) bool { return t.Integer() && t.Bits() == bits || t.Kind == ir.Bool && bits == 8 }) {
			at = m.Pos
			break
		}
	}
	return fmt.Sprintf("%s (%s)", words, p.Line(at))
}
