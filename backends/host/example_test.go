package host_test

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// A discrete device of the host backend, as a test of other code might use it: its
// memory is reached by copies alone, and its work waits for the test.
func Example() {
	d, err := host.New(host.Options{Discrete: 1}).Open(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	m, _ := d.Alloc(driver.KindDevice, 4, 0)
	s, _ := d.NewStream(driver.StreamOptions{})
	fmt.Println("the host sees it:", m.HostPointer() != nil)

	gate, _ := s.(driver.Gater).Gate()
	in, out := uint32(42), uint32(0)
	whole := driver.Region{Mem: m, Len: 4}
	_ = s.CopyIn(whole, unsafe.Pointer(&in))
	_ = s.CopyOut(unsafe.Pointer(&out), whole)
	done, _ := s.Query()
	fmt.Println("done behind the gate:", done, out)

	_ = gate.Open()
	if err := s.Sync(); err != nil {
		panic(err)
	}
	fmt.Println("done:", out)

	_ = s.Close()
	_ = m.Free()
	_ = d.Close()
	// Output:
	// the host sees it: false
	// done behind the gate: false 0
	// done: 42
}
