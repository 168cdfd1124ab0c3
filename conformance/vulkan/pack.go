//go:build ignore

// Command pack prints the SPIR-V module of standard input packed, as a string of Go in the file that generate writes.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/go-halyard/halyard/internal/spirv/build"
)

func main() {
	module, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
	words := make([]uint32, len(module)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(module[4*i:])
	}
	fmt.Print(new(build.Packer).Pack(words))
}
