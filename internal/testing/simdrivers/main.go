// Command simdrivers builds the simulated vendor drivers, which need a C compiler, and prints the
// settings under which programs load them:
//
//	go run ./internal/testing/simdrivers
//
// Without -dir they are built where the tests keep theirs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "halyard-simgpu"), "folder to build in")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "simdrivers: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	cuda, hip, err := simgpu.Build(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simdrivers:", err)
		os.Exit(1)
	}
	fmt.Printf("HALYARD_CUDA_LIBRARY=%s\nHALYARD_HIP_LIBRARY=%s\n", cuda, hip)
}
