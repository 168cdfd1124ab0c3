package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var comment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)

// declarations returns the parameters of each declaration of a function in headers, without its version in the name, which macros add.
func declarations(headers, function string) (all [][]string) {
	for _, name := range []string{function, strings.TrimSuffix(function, "_v2")} {
		for _, at := range regexp.MustCompile(`\b`+name+`\s*\(`).FindAllStringIndex(headers, -1) {
			depth, from := 1, at[1]
			var params []string
			for i := from; i < len(headers) && depth > 0; i++ {
				switch c := headers[i]; {
				case c == '(':
					depth++
				case c == ')':
					depth--
				}
				if depth == 0 || depth == 1 && headers[i] == ',' {
					params, from = append(params, strings.TrimSpace(headers[from:i])), i+1
				}
			}
			all = append(all, params)
		}
	}
	return all
}

// agrees reports whether a prototype has as many parameters as a declaration, and pointers where it has some.
func agrees(c *call, declared []string) bool {
	var pointers []bool
	for _, p := range c.params {
		n := 1
		if p.kind != "out" && p.array > 0 {
			n = p.array
		}
		for range n {
			pointers = append(pointers, strings.Contains(p.cType, "*") || p.kind == "out" || p.base == "callback")
		}
	}
	if len(pointers) != len(declared) {
		return false
	}
	for i, d := range declared {
		if strings.ContainsAny(d, "*[") != pointers[i] {
			return false
		}
	}
	return true
}

// The prototypes are those of the vendors' headers, where these are installed.
func TestPrototypesAgreeWithTheHeaders(t *testing.T) {
	cuda := os.Getenv("HALYARD_CUDA_INCLUDE")
	for _, h := range []struct {
		list    string
		folders []string
		pattern string
		prefix  string // of the names in the header
	}{
		{"backends/cuda", []string{cuda, "/usr/local/cuda/include"}, "cuda.h", ""},
		{"backends/hip", []string{"/opt/rocm/include/hip", "/usr/include/hip"}, "hip_runtime_api.h", ""},
		{"backends/opencl", []string{"/usr/include/CL"}, "cl*.h", ""},
		{"internal/cudahip/rtc", []string{cuda, "/usr/local/cuda/include", filepath.Join(cuda, "../../cuda_nvrtc/include")}, "nvrtc.h", "nvrtc"},
	} {
		t.Run(h.list, func(t *testing.T) {
			var headers string
			for _, folder := range h.folders {
				files, _ := filepath.Glob(filepath.Join(folder, h.pattern))
				for _, file := range files {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					headers += comment.ReplaceAllString(string(text), "")
				}
			}
			if headers == "" {
				t.Skip("no headers in ", h.folders)
			}
			text, err := os.ReadFile(filepath.Join("..", "..", "..", h.list, "calls.txt"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range l.calls {
				declared := declarations(headers, h.prefix+c.c)
				extension := len(l.tables) > 0 && c.table != l.tables[0].name           // not every header has it
				found := len(declared) == 0 && (c.optional || extension) || !c.exists() // the headers may be older
				for _, d := range declared {
					found = found || agrees(c, d)
				}
				if !found {
					t.Errorf("%s is not declared as in the list: %q", c.c, declared)
				}
			}
		})
	}
}
