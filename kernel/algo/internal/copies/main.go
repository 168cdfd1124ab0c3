// Command copies writes the kernels for each type of numbers: the text of float32s/kernels.go in another package, where T is another type.
// It runs in the folder of package algo, by go generate.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	for _, name := range []string{"float64s", "int32s", "int64s", "uint32s", "uint64s"} {
		text, err := os.ReadFile("internal/float32s/kernels.go")
		if err == nil {
			_, body, _ := strings.Cut(string(text), "package float32s\n")
			text = []byte("// Code generated from float32s/kernels.go by copies; DO NOT EDIT.\n\npackage " + name + "\n" + body)
			err = os.WriteFile("internal/"+name+"/kernels.go", text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "copies:", err)
			os.Exit(1)
		}
	}
}
