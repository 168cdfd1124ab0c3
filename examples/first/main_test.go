package main

import (
	"os"
	"testing"

	"github.com/go-halyard/halyard/hal"
)

func TestMain(m *testing.M) {
	os.Setenv("HALYARD_HOST_DEVICES", "1")
	os.Setenv(hal.EnvDevices, "host:1")
	os.Exit(m.Run())
}

// What the program does on a device with memory of its own: of 4 MiB the 1000 elements that it wrote come back.
func Example_main() {
	main()
	// Output:
	// 0 7 7 0
	// 4000 of 4194304 bytes were copied
}
