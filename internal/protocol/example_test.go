package protocol_test

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/protocol"
)

const (
	host = protocol.Host
	gpu  = protocol.Place(1)
	gpu2 = protocol.Place(2)
)

// A write on the host, a kernel that changes the bytes on a device, and a read on the host.
func ExampleState_Plan() {
	var s protocol.State
	for _, step := range []struct {
		action protocol.Action
		place  protocol.Place
	}{
		{protocol.Overwrite, host},
		{protocol.ReadWrite, gpu},
		{protocol.Read, host},
		{protocol.Evict, gpu},
	} {
		next, move, need, err := s.Plan(step.action, step.place, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		transfer := "nothing moves"
		if need {
			transfer = move.String()
		}
		fmt.Printf("%v at %v: %s, then %v\n", step.action, step.place, transfer, next.Name())
		s = next
	}
	// Output:
	// Overwrite at host: nothing moves, then HOST_ONLY
	// ReadWrite at device 1: host → device 1, then DEVICE_DIRTY
	// Read at host: device 1 → host, then SYNCHRONIZED
	// Evict at device 1: nothing moves, then HOST_ONLY
}

// A stale replica that was changed is a mistake that is found at once.
func ExampleState_Plan_conflict() {
	s := protocol.State{Allocated: protocol.Of(host, gpu), Valid: protocol.Of(gpu)}
	_, _, _, err := s.Plan(protocol.MarkModified, host, nil)
	fmt.Println(errors.Is(err, coherence.ErrConflict))
	fmt.Println(err)
	// Output:
	// true
	// protocol: MarkModified at host: conflicting access: valid at {1}, allocated at {host, 1}
}

// A link between devices that is faster than the way through the host.
func ExampleCost() {
	direct := func(from, to protocol.Place) int {
		if from == host || to == host {
			return 4
		}
		return 1
	}
	s := protocol.State{Allocated: protocol.Of(host, gpu), Valid: protocol.Of(host, gpu)}
	_, move, _, _ := s.Plan(protocol.Read, gpu2, direct)
	fmt.Println(move)
	// Output: device 1 → device 2
}

// Plan, apply each transfer as it is submitted, commit: one kibibyte of a gibibyte moves.
func ExampleMap() {
	m := protocol.NewMap(1 << 30)
	do := func(a protocol.Action, p protocol.Place, lo, hi uint64) {
		transfers, err := m.Plan(a, p, lo, hi, nil, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, t := range transfers {
			fmt.Printf("%v at %v: %v, %d bytes\n", a, p, t.Move, t.Len())
			if err := m.Apply(t); err != nil {
				fmt.Println(err)
				return
			}
		}
		if err := m.Commit(a, p, lo, hi); err != nil {
			fmt.Println(err)
		}
	}
	do(protocol.Overwrite, host, 0, m.Size())
	do(protocol.Read, gpu, 0, m.Size())
	do(protocol.Overwrite, host, 4096, 5120)
	do(protocol.Read, gpu, 0, m.Size())
	fmt.Println(m.Len(), "interval,", m.State(0, m.Size()).Name())
	// Output:
	// Read at device 1: host → device 1, 1073741824 bytes
	// Read at device 1: host → device 1, 1024 bytes
	// 1 interval, SYNCHRONIZED
}

func ExampleMap_Runs() {
	m := protocol.NewMap(100)
	_ = m.Commit(protocol.Overwrite, host, 0, 60)
	_ = m.Commit(protocol.Read, gpu, 20, 40)
	m.Runs(10, 100, func(lo, hi uint64, valid protocol.Set) bool {
		fmt.Printf("[%d, %d) valid at %v\n", lo, hi, valid)
		return true
	})
	// Output:
	// [10, 20) valid at {host}
	// [20, 40) valid at {host, 1}
	// [40, 60) valid at {host}
	// [60, 100) valid at {}
}

// The state is kept when the copy failed: the source still has the bytes.
func ExampleMap_Invalidate() {
	m := protocol.NewMap(16)
	_ = m.Commit(protocol.Overwrite, host, 0, 16)
	_ = m.Commit(protocol.Read, gpu, 0, 16)
	fmt.Println(m.Invalidate(gpu, 0, 16), "bytes lost,", m.State(0, 16).Name())

	_ = m.Commit(protocol.ReadWrite, gpu, 0, 8)
	fmt.Println(m.Invalidate(gpu, 0, 16), "bytes lost")
	// Output:
	// 0 bytes lost, HOST_DIRTY
	// 8 bytes lost
}

func ExampleState_Version() {
	const lastWrite = 7
	s := protocol.State{Allocated: protocol.Of(host, gpu), Valid: protocol.Of(gpu)}
	fmt.Println(s.Version(host, lastWrite), s.Version(gpu, lastWrite))
	// Output: -1 7
}

func ExampleTable() {
	for _, r := range protocol.Table() {
		if r.Action == protocol.Evict {
			fmt.Printf("%v when %v: %s\n", r.Action, r.When, r.Doc)
		}
	}
	// Output:
	// Evict when sole: The only valid replica is copied elsewhere before its memory is given up.
	// Evict when shared or stale or unwritten: A replica that is stale, or valid elsewhere too, is dropped.
}
