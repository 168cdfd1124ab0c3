// Command simdrivers builds the simulated drivers and prints the environment variables with which
// programs load them. It needs a C compiler:
//
//	go run ./internal/testing/simdrivers
//
// Without -dir it builds them in the folder that the tests use.
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
