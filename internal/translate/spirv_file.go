package translate

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"go/format"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
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

// modules returns the kernels of a text as modules of SPIR-V, by their names in C, and why others have none. checked says whether they
// check indexes.
func modules(c string, checked bool) (made map[string][]uint32, lacks map[string]error, err error) {
	c = mathText + c
	if checked {
		c = boundsText + c
	}
	p, err := parseC(c, checked)
	if err != nil {
		return nil, nil, fmt.Errorf("the translation to C cannot be read, which is a bug of halyard kernels: %w", err)
	}
	made, lacks = map[string][]uint32{}, map[string]error{}
	for name, f := range p.functions {
		if !f.kernel {
			continue
		}
		if words, err := p.spirvOf(name); err != nil {
			lacks[name] = err
		} else {
			made[name] = words
		}
	}
	return made, lacks, nil
}

// code is a kernel for devices of Vulkan, or why there is none.
type code struct {
	words, checked []uint32
	lacks          string
}

// codes returns the sum of a text, and its kernels by their names in C.
func codes(c string) (sum string, kernels map[string]code, err error) {
	plain, lacks, err := modules(c, false)
	if err != nil {
		return "", nil, err
	}
	checked, _, err := modules(c, true)
	if err != nil {
		return "", nil, err
	}
	kernels = map[string]code{}
	for name, words := range plain {
		kernels[name] = code{words: words, checked: checked[name]}
	}
	for name, why := range lacks {
		kernels[name] = code{lacks: why.Error()}
	}
	whole := sha256.Sum256([]byte(c))
	return hex.EncodeToString(whole[:8]), kernels, nil
}

// vulkan returns the file that gives the program its kernels for devices of Vulkan, and their modules as text.
func (p *Package) vulkan(c string, kernels []*function) (file []byte, assembly string, err error) {
	sum, all, err := codes(c)
	if err != nil {
		return nil, "", err
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
		fmt.Fprintf(&b, "\t\t%q: {Words: `\n%s`, Checked: `\n%s`},\n", name, spirv.Pack(k.words), spirv.Pack(k.checked))
		fmt.Fprintf(&text, "; kernel %s\n%s", name, spirv.Text(k.words))
	}
	b.WriteString("\t})\n}\n")
	file, err = format.Source([]byte(b.String()))
	if err != nil {
		return nil, "", fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	return file, text.String(), nil
}
