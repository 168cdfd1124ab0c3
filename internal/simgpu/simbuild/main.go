// Command simbuild builds the simulated vendor drivers and prints the paths of the
// two libraries, CUDA's first.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-halyard/halyard/internal/simgpu"
)

func main() {
	dir := flag.String("dir", filepath.Join(".cache", "sim"), "folder to build in; what is there already is not built again")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: simbuild [-dir folder] [symbol to leave out]...")
		flag.PrintDefaults()
	}
	flag.Parse()
	cuda, hip, err := simgpu.Build(*dir, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cuda)
	fmt.Println(hip)
}
