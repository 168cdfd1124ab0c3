package translate

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"go/format"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv/build"
)

// VulkanName returns the name of the generated file with SPIR-V of a package with that name.
func VulkanName(pkg string) string { return pkg + "_kernels_vulkan.go" }

//go:embed vulkan/math.h
var mathText string

// boundsText has the functions of kernel/prelude/bounds.h, which check indexes.
//
//go:embed vulkan/bounds.h
var boundsText string

// goNames are the names in package math, by those in C.
var goNames = map[string]string{}

func init() {
	for name, c := range mathNames {
		goNames[c] = name
	}
}

// spirvModule is a kernel as a module of SPIR-V.
type spirvModule struct {
	words []uint32
	needs []string // what not every device has, by the names of Vulkan's features
}

// modules returns the kernels of a text as modules, by their names in C, and why others have none.
func modules(c string, mode checks) (made map[string]spirvModule, lacks map[string]error, err error) {
	c = mathText + c
	if mode > 0 {
		c = boundsText + c
	}
	p, err := parseC(c, mode)
	if err != nil {
		return nil, nil, fmt.Errorf("the translation to C cannot be read, which is a bug of halyard kernels: %w", err)
	}
	made, lacks = map[string]spirvModule{}, map[string]error{}
	for name, f := range p.functions {
		if !f.kernel {
			continue
		}
		e, err := p.spirvOf(name)
		if err != nil {
			lacks[name] = err
			continue
		}
		m := spirvModule{words: e.m.Words()}
		for _, n := range vulkanNeeds {
			if e.m.Needs(n.capability) {
				m.needs = append(m.needs, n.feature)
			}
		}
		made[name] = m
	}
	return made, lacks, nil
}

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

// made returns the kernels of a package by their names in C, from [Package.Modules].
func (p *Package) made(g *program) (map[string]code, error) {
	var entries []Entry
	for _, f := range g.made {
		entries = append(entries, Entry{f.decl.Name.Name, f.c, f.looped.most != nil})
	}
	all, err := p.Modules(p, g.sites, entries)
	if err != nil {
		return nil, err
	}
	kernels := map[string]code{}
	module := func(m *build.Module) (made spirvModule) {
		if m == nil {
			return made
		}
		made.words = m.Words()
		for _, n := range vulkanNeeds {
			if m.Needs(n.capability) {
				made.needs = append(made.needs, n.feature)
			}
		}
		return made
	}
	for i, m := range all {
		kernels[entries[i].Name] = code{plain: module(m.Plain), watched: module(m.Watched), checked: module(m.Checked)}
	}
	return kernels, nil
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

// code is a kernel for devices of Vulkan, or why there is none.
type code struct {
	plain, watched, checked spirvModule
	lacks                   string
}

// codes returns the sum of a text, and its kernels by their names in C.
func codes(c string) (sum string, kernels map[string]code, err error) {
	plain, lacks, err := modules(c, reportsNothing)
	if err != nil {
		return "", nil, err
	}
	watched, _, err := modules(c, reportsRounds)
	if err != nil {
		return "", nil, err
	}
	checked, _, err := modules(c, reportsBounds)
	if err != nil {
		return "", nil, err
	}
	kernels = map[string]code{}
	for name, m := range plain {
		kernels[name] = code{plain: m, watched: watched[name], checked: checked[name]}
	}
	for name, why := range lacks {
		kernels[name] = code{lacks: why.Error()}
	}
	return sumOf(c), kernels, nil
}

// sumOf returns the sum of a text.
func sumOf(c string) string {
	whole := sha256.Sum256([]byte(c))
	return hex.EncodeToString(whole[:8])
}

// vulkan returns the file that gives the program its kernels for devices of Vulkan, and their modules as text.
func (p *Package) vulkan(c string, g *program) (file []byte, assembly string, all map[string]code, err error) {
	kernels := g.made
	var sum string
	if p.Modules != nil {
		sum = sumOf(c)
		all, err = p.made(g)
	} else {
		sum, all, err = codes(c)
	}
	if err != nil {
		return nil, "", nil, err
	}
	var b, text strings.Builder
	fmt.Fprintf(&b, "%s\n\n//go:build vulkan\n\npackage %s\n\nimport \"github.com/go-halyard/halyard/kernel\"\n\n", generatedBy, p.Name)
	fmt.Fprintf(&b, "func init() {\n\t%s.Compiled(%q, map[string]kernel.Code{\n", p.free("program", "kernels"), sum)
	for _, f := range kernels {
		k, name := all[f.c], f.decl.Name.Name
		if k.lacks != "" {
			why := fmt.Sprintf("%s: %s", p.line(f.decl.Pos()), k.lacks)
			fmt.Fprintf(&b, "\t\t%q: {Lacks: %q},\n", name, why)
			fmt.Fprintf(&text, "; kernel %s has no module: %s\n", name, why)
			continue
		}
		fmt.Fprintf(&b, "\t\t%q: {Words: `\n%s`, Checked: `\n%s`,", name, build.Pack(k.plain.words), build.Pack(k.checked.words))
		if f.looped.most != nil {
			fmt.Fprintf(&b, " Watched: `\n%s`,", build.Pack(k.watched.words))
		}
		b.WriteString(" Needs: map[string]string{\n")
		for _, n := range vulkanNeeds {
			if slices.Contains(k.plain.needs, n.feature) {
				fmt.Fprintf(&b, "\t\t\t%q: %q,\n", n.feature, f.use(n.capability, n.words))
			}
		}
		b.WriteString("\t\t}},\n")
		fmt.Fprintf(&text, "; kernel %s\n%s", name, build.Text(k.plain.words))
	}
	b.WriteString("\t})\n}\n")
	file, err = format.Source([]byte(b.String()))
	if err != nil {
		return nil, "", nil, fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	return file, text.String(), all, nil
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
