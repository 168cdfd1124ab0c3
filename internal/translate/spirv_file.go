package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/format"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/kernel"
)

// VulkanName returns the name of the generated file with SPIR-V of a package with that name.
func VulkanName(pkg string) string { return pkg + "_kernels_vulkan.go" }

// boundsText returns the functions of the prelude that check indexes.
func boundsText() string {
	_, text, _ := strings.Cut(kernel.Prelude(hal.LanguageHIP), "#ifdef HALYARD_BOUNDS\n")
	text, _, _ = strings.Cut(text, "#else\n")
	return text
}

// Modules returns the kernels of a text as modules of SPIR-V, by their names in C. checked says whether they check indexes.
func Modules(c string, checked bool) (modules map[string][]uint32, lacks map[string]error, err error) {
	if checked {
		c = boundsText() + c
	}
	p, err := parseC(c, checked)
	if err != nil {
		return nil, nil, fmt.Errorf("the translation to C cannot be read, which is a bug of halyard kernels: %w", err)
	}
	modules, lacks = map[string][]uint32{}, map[string]error{}
	for name, f := range p.functions {
		if !f.kernel {
			continue
		}
		if words, err := p.spirvOf(name); err != nil {
			lacks[name] = err
		} else {
			modules[name] = words
		}
	}
	return modules, lacks, nil
}

// vulkan returns the file that gives the program its kernels for devices of Vulkan.
func (p *Package) vulkan(c string, kernels []*function) ([]byte, error) {
	plain, lacks, err := Modules(c, false)
	if err != nil {
		return nil, err
	}
	checked, _, err := Modules(c, true)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c))
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n//go:build vulkan\n\npackage %s\n\nimport \"github.com/go-halyard/halyard/kernel\"\n\n", generatedBy, p.Name)
	fmt.Fprintf(&b, "func init() {\n\t%s.Compiled(%q, map[string]kernel.Code{\n", p.free("program", "kernels"), hex.EncodeToString(sum[:8]))
	for _, f := range kernels {
		if why := lacks[f.c]; why != nil {
			fmt.Fprintf(&b, "\t\t%q: {Lacks: %q},\n", f.decl.Name.Name, why)
			continue
		}
		fmt.Fprintf(&b, "\t\t%q: {Words: `\n%s`, Checked: `\n%s`},\n", f.decl.Name.Name, spirv.Pack(plain[f.c]), spirv.Pack(checked[f.c]))
	}
	b.WriteString("\t})\n}\n")
	src, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	return src, nil
}
