package hal

import (
	"context"

	"github.com/go-halyard/halyard/internal/layer/slot"

	"github.com/go-halyard/halyard/hal/internal/wait"
)

// These are the functions of this package that package internal/layer calls; they are documented there.
func init() {
	slot.Hal = struct {
		RecordedOn       func(*Event, *Stream) bool
		DoneAlone        func(*Event) (bool, error)
		CanDefer         func(*Stream, *Event) bool
		WithoutWait      func(Grid) Grid
		Launched         func(*Stream, *Kernel) error
		Dimensions       func(Grid) int
		Rename           func(k *Kernel, name string, params []string)
		KeepsFailures    func(*Stream) bool
		Idle             func(*Stream) (bool, error)
		Drain            func(*Stream, context.Context) error
		Err              func(*Stream) error
		Common           func(*Device) *Device
		Value            func(d *Device, key any, init func() any) any
		SharesHostMemory func(*Device) bool
		KeepUntil        func(*Memory, *Event) error
		CloseThen        func(m *Memory, given func()) error
		ReportLeak       func(Leak)
		Interrupted      func(op string, ctx context.Context) error
	}{
		(*Event).recordedOn, (*Event).doneAlone, (*Stream).canDefer, Grid.withoutWait, (*Stream).launched, Grid.dimensions, (*Kernel).rename, (*Stream).keepsFailures, (*Stream).idle, (*Stream).drain, (*Stream).err,
		(*Device).common, (*Device).value, (*Device).sharesHostMemory, (*Memory).keepUntil, (*Memory).closeThen,
		reportLeak, wait.Interrupted,
	}
}
