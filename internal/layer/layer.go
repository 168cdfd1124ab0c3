// Package layer has functions of package hal for the packages of this module that stand on it, such as buffer and hal/pool. No program
// needs them, so hal does not export them.
package layer

import (
	"context"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// function returns a function of package hal. It is a function value: calling one costs less than calling a method of an interface, which
// goes through a wrapper.
func function[F any](name string) F { return slot.Hal[name].(F) }

// RecordShared is s.Record without options. It returns a shared reference, see [Retain], and allocates nothing while the device has spare
// events.
var RecordShared = function[func(*hal.Stream) (*hal.Event, error)]("RecordShared")

// RecordAgain makes the event stand for all work enqueued on s so far, in place of a Close and a new record. It allocates nothing. Waits
// that are already enqueued still wait for the work that the event stood for before. RecordAgain reports false and leaves the event
// unchanged if something else refers to the event, such as a function given to OnDone; if the event is closed or belongs to another
// device; or if the call fails. The event must not be used concurrently.
var RecordAgain = function[func(*hal.Stream, *hal.Event) bool]("RecordAgain")

// Retain adds a shared reference to the event and returns it, or nil if e is closed. All shared references to an event are the same
// pointer. Each of them must be closed exactly once, and none may be used after the last of them is closed: the device then returns the
// pointer for another event. A shared reference does not keep the device from closing: Device.Close waits for the event's work, and the
// event keeps its result. The leak of a shared reference is not reported.
var Retain = function[func(*hal.Event) *hal.Event]("Retain")

// RecordedOn reports whether the event was recorded on s, so that later work of s need not wait for it.
var RecordedOn = function[func(*hal.Event, *hal.Stream) bool]("RecordedOn")

// DoneAlone is e.Done for a shared reference that is the only one, and that no other goroutine uses meanwhile. It takes fewer locks.
var DoneAlone = function[func(*hal.Event) (bool, error)]("DoneAlone")

// CanDefer reports whether s.WaitEvent(e) returns at once, without blocking the caller until the event's work is done.
var CanDefer = function[func(*hal.Stream, *hal.Event) bool]("CanDefer")

// Dimensions returns how many dimensions the program gave for the grid, or for its blocks if those are more.
var Dimensions = function[func(hal.Grid) int]("Dimensions")

// Empty reports whether a launch with the grid does nothing because a dimension is 0.
var Empty = function[func(hal.Grid) bool]("Empty")

// Launch is Stream.Launch with what a program cannot say of a launch. Drivers that do not know which launch has failed ignore How.Key and
// How.Failed.
var Launch = function[func(s *hal.Stream, k *hal.Kernel, g hal.Grid, how How, args []hal.Arg) error]("Launch")

// How says of a launch what is not the program's.
type How = slot.How

// Position returns the number of operations that were enqueued on the stream so far, 0 if the driver does not know which has failed.
var Position = function[func(*hal.Stream) uint64]("Position")

// FailureOf returns the error of a launch with the key among the operations after the first and up to the last, nil if there is none. err is
// the error that an event behind them has reported: FailureOf returns it if the driver does not know which launch has failed, or if no kernel has.
var FailureOf = function[func(s *hal.Stream, first, last, key uint64, err error) error]("FailureOf")

// Shape returns what the program gave for the grid: threads if over is true, else blocks, and whether it also gave the threads of a block.
var Shape = function[func(hal.Grid) (n [3]int, over, shaped bool)]("Shape")

// Resolve returns the blocks of the grid and the threads of a block, as a launch of the kernel has them. It makes the checks of a launch
// that concern the grid.
var Resolve = function[func(*hal.Kernel, hal.Grid) (blocks, block [3]uint32, err error)]("Resolve")

// IsShared reports whether the argument was made by hal.Shared.
var IsShared = function[func(hal.Arg) bool]("IsShared")

// Integer returns an integer that hal.Value made.
var Integer = function[func(a hal.Arg, signed bool) int64]("Integer")

// Keep returns the argument with a copy of its value, which may change or go later.
var Keep = function[func(hal.Arg) hal.Arg]("Keep")

// Prepare checks launches as Stream.Launch does, and returns run, which enqueues them again and again without these checks. run returns how
// many it has enqueued, and is not to be called by two goroutines at once. A later event reports the failure of any of them; where drivers
// do not do that, run is nil. end frees what the driver has prepared; it is nil if there is nothing to free.
var Prepare = function[func(s *hal.Stream, k []*hal.Kernel, g []hal.Grid, how How, args [][]hal.Arg) (
	run func() (n int, err error), end func() error, err error)]("Prepare")

// Describe sets the names by which messages call a kernel and its parameters, in place of those in the code, and the most threads of a block; 0
// leaves what the driver says. It is called before the first launch.
var Describe = function[func(k *hal.Kernel, name string, params []string, most uint32)]("Describe")

// KeepsFailures reports whether an event of the stream reports the failure of any work before it, unless the program has been told of
// that. Otherwise it may report only how the last command has ended, as in OpenCL.
var KeepsFailures = function[func(*hal.Stream) bool]("KeepsFailures")

// FailsForGood reports whether an event of the stream reports the failure of any work before it, however often the program has been told of
// that: after a failure nothing works on the device, as in CUDA. It is false when that has happened.
var FailsForGood = function[func(*hal.Stream) bool]("FailsForGood")

// Idle is like Stream.Done, but on a closed stream it reports whether the work that was under way has finished, and its error. It leaves an
// error to the program's next Done or Sync.
var Idle = function[func(*hal.Stream) (bool, error)]("Idle")

// Drain is like Stream.Sync, but on a closed stream it waits for the work that was under way, and returns its error. It leaves an error to
// the program's next Done or Sync.
var Drain = function[func(*hal.Stream, context.Context) error]("Drain")

// EndsByItself reports whether the stream's work ends without a further call of the program: the stream is not imported, and no gate is shut.
var EndsByItself = function[func(*hal.Stream) bool]("EndsByItself")

// Err returns nil if the stream accepts work, else an error of kind ErrClosed or ErrDeviceLost.
var Err = function[func(*hal.Stream) error]("Err")

// Lost returns the error of calls on the device if it was lost, else nil.
var Lost = function[func(*hal.Device) error]("Lost")

// CompilerID names everything besides the source that decides what Device.Compile returns, as a key for caches: the compiler, its
// version and, where it matters, the device and its driver.
var CompilerID = function[func(*hal.Device) (string, error)]("CompilerID")

// Common returns a handle that belongs to the device itself. It is for objects that outlive the part of a program that opened the device.
// While an object made through this handle is open, the last of the program's handles cannot be closed; the others can. A module loaded
// through it never prevents that: the module closes with the device. Close refuses this handle, which closes together with the last of
// the program's handles.
var Common = function[func(*hal.Device) *hal.Device]("Common")

// Value returns the value that is stored in the device under key; if there is none, it stores and returns the result of init. All handles
// of the device share these values, which live as long as the device. key is of the caller's own type, as for context.Context. With a nil
// or zero Device nothing is stored.
var Value = function[func(d *hal.Device, key any, init func() any) any]("Value")

// SharesHostMemory returns d.Info().SharesHostMemory without copying the whole Info.
var SharesHostMemory = function[func(*hal.Device) bool]("SharesHostMemory")

// KeepUntil tells hal that the event's work, on any device, uses the memory: after Close the memory is not freed
// before that work has finished. The caller keeps its reference to the event.
var KeepUntil = function[func(*hal.Memory, *hal.Event) error]("KeepUntil")

// CloseThen closes the memory like Close, and calls given when the memory has been freed: before it returns if no work is
// under way, else on a new goroutine, for which Device.Close waits. If the memory was already closed, given is not called.
var CloseThen = function[func(m *hal.Memory, given func()) error]("CloseThen")

// ReportLeak reports the leak of another package's object to the leak handler. It does not give the object back.
var ReportLeak = function[func(hal.Leak)]("ReportLeak")

// Interrupted returns the error of an operation that gave up because ctx ended: of kind ErrNotReady, wrapping the context's cause.
var Interrupted = function[func(op string, ctx context.Context) error]("Interrupted")

// Ended returns an error of kind ErrInvalidArgument if ctx is nil, and that of Interrupted if ctx has ended.
var Ended = function[func(op string, ctx context.Context) error]("Ended")

// Called gives an error of a call below the name of the method that the program has called. The error of a launch, which a later call may
// be the first to find, keeps its name.
func Called(op string, err error) error {
	e, ok := err.(*hal.Error)
	if !ok || strings.EqualFold(e.Op, "launch") {
		return err
	}
	here := *e
	here.Op = op
	return &here
}
