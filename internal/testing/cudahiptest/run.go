package cudahiptest

import (
	"context"
	"errors"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// where says whether a test can run on hardware.
type where bool

const (
	onlySim  where = false // the test controls the simulated driver, or depends on its sizes
	anywhere where = true
)

var tests = []struct {
	name  string
	where where
	test  func(*Harness, *testing.T)
}{
	{"Devices/AreListedWithoutAContext", onlySim, devicesAreListed},
	{"Devices/NoneIsNoError", onlySim, noDevices},
	{"Devices/EachCallFails", onlySim, loadFails},
	{"Devices/CancelledContext", onlySim, cancelledContext},
	{"Devices/LackingAbilities", onlySim, lackingAbilities},
	{"Devices/UnansweredQuestions", onlySim, unansweredQuestions},
	{"Devices/UnansweredCalls", onlySim, unansweredCalls},
	{"Memory/Refuses", anywhere, allocRefuses},
	{"Memory/OutOfMemory", onlySim, outOfMemory},
	{"Memory/LessAlignedThanUsual", onlySim, lessAligned},
	{"Memory/NullAddress", onlySim, nullAddress},
	{"Memory/KeptInStreamOrder", onlySim, keepsStreamMemory},
	{"Memory/Register", anywhere, registerMemory},
	{"Copy/PageableMemoryOfABusyStream", anywhere, copyPageableBusy},
	{"Copy/PageableMemoryOfAnIdleStream", anywhere, copyPageableIdle},
	{"Copy/PageableMemoryFromManyGoroutines", anywhere, copyPageableAtOnce},
	{"Copy/StagingMemoryIsKept", onlySim, stagingIsKept},
	{"Copy/OnTheHostOfABusyStream", anywhere, copyOnHostBusy},
	{"Copy/RowsOfABusyStream", anywhere, copyRowsBusy},
	{"Copy/PartlyPageLocked", anywhere, copyPartlyLocked},
	{"Copy/Peers", anywhere, copyPeers},
	{"Copy/NoPeers", onlySim, noPeers},
	{"Fill/UnalignedRegisteredMemory", anywhere, fillUnaligned},
	{"Stream/ClosesAlone", anywhere, streamClosesAlone},
	{"Gate/WithoutWaitValue", onlySim, gatesWithoutWaitValue},
	{"Event/NeverRecorded", onlySim, neverRecorded},
	{"Event/WrongDevice", anywhere, eventWrongDevice},
	{"Errors/LostDevice", onlySim, lostDevice},
	{"Errors/EveryNthCallFails", onlySim, everyNthCallFails},
	{"Share/BetweenProcesses", onlySim, shareBetweenProcesses},
	{"Share/BadShares", onlySim, badShares},
	{"Adopt/Refuses", onlySim, adoptRefuses},
	{"Adopt/OldDriver", onlySim, importOldDriver},
	{"Adopt/DefaultStream", anywhere, importDefaultStream},
	{"Adopt/Query", anywhere, queryPointers},
	{"Kernels/Run", onlySim, kernelsRun},
	{"Kernels/Arguments", onlySim, kernelArguments},
	{"Kernels/AreDescribed", onlySim, kernelsAreDescribed},
	{"Kernels/ImagesRefused", onlySim, kernelImagesRefused},
	{"Kernels/LaunchesRefused", onlySim, launchesRefused},
	{"Kernels/Faults", onlySim, kernelFaults},
	{"Kernels/LaunchDoesNotAllocate", onlySim, launchDoesNotAllocate},
	{"Calls/DoNotAllocate", anywhere, callsDoNotAllocate},
}

// Run runs all tests on the simulated driver.
func Run(t *testing.T, h *Harness) {
	h.start(t)
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.test(h, t) })
	}
}

// RunHardware runs the tests that need no simulated driver, on real devices. Without a device it
// skips the test, or fails it if HALYARD_REQUIRE contains the name require.
func RunHardware(t *testing.T, b driver.Backend, require string) {
	h := &Harness{backend: b, count: len(Hardware(t, b, require))}
	h.runHardware(t)
}

func (h *Harness) runHardware(t *testing.T) {
	for _, c := range tests {
		if c.where == anywhere {
			t.Run(c.name, func(t *testing.T) { c.test(h, t) })
		}
	}
}

// Hardware returns the real devices of a backend. Without one it skips the test, or fails it if
// HALYARD_REQUIRE contains the name require. If HALYARD_REQUIRE contains "simulated", simulated
// devices count as real, so that the tests themselves can be tried.
func Hardware(t testing.TB, b driver.Backend, require string) []driver.Info {
	t.Helper()
	infos, err := b.Devices(context.Background())
	why := ""
	switch {
	case errors.Is(err, driver.ErrUnavailable):
		why = err.Error()
	case err != nil:
		t.Fatal(err)
	case len(infos) == 0:
		why = "the driver sees no device"
	case infos[0].Simulated && !Required("simulated"):
		why = infos[0].Model + " is no hardware"
	default:
		return infos
	}
	if Required(require) {
		t.Fatal(why)
	}
	t.Skip(why)
	return nil
}

// start loads the simulated library.
func (h *Harness) start(t testing.TB) {
	t.Helper()
	t.Setenv(h.Env, h.Library)
	h.sim = attach(t, h.Library)
	h.backend = h.New()
	h.count = 2
}
