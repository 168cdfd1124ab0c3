// Command template writes the functions of package lanes that differ only in the type of an element. It runs in the package's folder, by go generate.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"os"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var texts embed.FS

// files are the generated files, with the template of each.
var files = map[string]string{"lanes_gen.go": "lanes.tmpl", "amd64_gen.go": "amd64.tmpl", "others_gen.go": "others.tmpl"}

// number is a type of Go, and of the lanes of a vector if it has 32 or 64 bits.
type number struct {
	E    string // in Go: float32
	Bits int
}

func (n number) T() string    { return strings.ToUpper(n.E[:1]) + n.E[1:] } // in names: Float32
func (n number) V() string    { return n.T() + "s" }                        // of a vector in package simd: Float32s
func (n number) Float() bool  { return n.E[0] == 'f' }
func (n number) Signed() bool { return n.E[0] != 'u' }
func (n number) Below() int   { return n.Bits - 1 }
func (n number) Rest() int    { return 32 - n.Bits }

// Lanes is the number of lanes of a vector with that many bits.
func (n number) Lanes(bits int) int { return bits / n.Bits }

// Most is the expression for the largest number of lanes.
func (n number) Most() string { return map[int]string{32: "most", 64: "most / 2"}[n.Bits] }

var (
	f32, i32, u32 = number{"float32", 32}, number{"int32", 32}, number{"uint32", 32}
	f64, i64, u64 = number{"float64", 64}, number{"int64", 64}, number{"uint64", 64}
)

// conversion is one of vectors by way of the type Over of Go.
type conversion struct {
	From, To number
	Over     string
}

// small is a type of elements that wider lanes hold.
type small struct {
	number
	Lane number
}

// In is the part of a name that says that lanes have 64 bits.
func (s small) In() string { return map[int]string{64: "64"}[s.Lane.Bits] }

// Slow begins the name of a load for which some processors have an instruction.
func (s small) Slow() string {
	return map[[2]int]string{{32, 64}: "slow", {8, 32}: "slow"}[[2]int{s.Bits, s.Lane.Bits}]
}

func (s small) Cut() conversion { return conversion{f64, s.Lane, s.E} }

func smalls() (all []small) {
	for _, bits := range []int{32, 64} {
		for _, sign := range []string{"", "u"} {
			lane := number{fmt.Sprintf("%sint%d", sign, bits), bits}
			for b := 8; b < bits; b *= 2 {
				all = append(all, small{number{fmt.Sprintf("%sint%d", sign, b), b}, lane})
			}
		}
	}
	return append(all, small{f32, f64})
}

var lists = template.FuncMap{
	"floats":   func() []number { return []number{f32, f64} },
	"narrow":   func() []number { return []number{i32, u32} },
	"wide":     func() []number { return []number{i64, u64} },
	"ints":     func() []number { return []number{i32, u32, i64, u64} },
	"lanes":    func() []number { return []number{f32, i32, u32, f64, i64, u64} },
	"masks":    func() []number { return []number{i32, i64} }, // masks are kept as these
	"unsigned": func() []number { return []number{u32, u64} },
	"small":    smalls,
	"halves":   func() []small { return []small{{i32, i64}, {u32, u64}, {f32, f64}} },
	"vector": func(n number, bits int) any {
		return struct {
			number
			Lanes int
		}{n, n.Lanes(bits)}
	},
	"conversions": func() []conversion {
		return []conversion{{f64, i64, "int64"}, {f64, u64, "uint64"}, {i64, f64, "float64"}, {u64, f64, "float64"}}
	},
	"slow": func() []conversion {
		return []conversion{{f32, i32, "int32"}, {f32, u32, "uint32"}, {u32, f32, "float32"}}
	},
	"rounds": func() []conversion { return []conversion{{i64, f64, "float32"}, {u64, f64, "float32"}} },
	"ways":   func() []string { return []string{"Left", "Right"} },
	"shifted": func(n number, way string) any {
		return struct {
			number
			Way string
		}{n, way}
	},
	"powers": func(below int) (all []int) {
		for p := 1; p < below; p *= 2 {
			all = append(all, p)
		}
		return all
	},
}

// generated returns a file.
func generated(name string) ([]byte, error) {
	t, err := template.New(name).Funcs(lists).ParseFS(texts, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return nil, err
	}
	return format.Source(b.Bytes())
}

func main() {
	for file, name := range files {
		src, err := generated(name)
		if err == nil {
			err = os.WriteFile(file, src, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "template:", err)
			os.Exit(1)
		}
	}
}
