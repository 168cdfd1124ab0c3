package host

import (
	"context"
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// residentAndLocked returns the bytes of memory that the process uses and has locked.
func residentAndLocked(t *testing.T) (resident, locked uint64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no process status here: ", err)
	}
	resident, _ = field(status, "VmRSS:", 1024)
	locked, _ = field(status, "VmLck:", 1024)
	return resident, locked
}

// Free gives mapped memory back to the system at once.
func TestFreeGivesBack(t *testing.T) {
	d, err := New(Options{Discrete: 1}).Open(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	debug.FreeOSMemory() // or what earlier tests have left goes back meanwhile
	before, lockedBefore := residentAndLocked(t)
	device, err := d.Alloc(driver.KindDevice, size, 0)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := d.Alloc(driver.KindHost, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	during, lockedDuring := residentAndLocked(t)
	if err := device.Free(); err != nil {
		t.Fatal(err)
	}
	isLocked := pinned.(*memory).PageLocked()
	if err := pinned.Free(); err != nil {
		t.Fatal(err)
	}
	after, lockedAfter := residentAndLocked(t)
	// Other memory of the process moves a little meanwhile.
	if during < before+size*3/4 {
		t.Errorf("%d bytes resident before and %d with %d more allocated: fresh memory was not written", before, during, size)
	}
	if after > during-size*3/4 {
		t.Errorf("%d bytes resident with %d bytes allocated and still %d without", during, size, after)
	}
	if isLocked && (lockedDuring < lockedBefore+1<<20 || lockedAfter != lockedBefore) {
		t.Errorf("%d bytes locked before, %d during, %d after", lockedBefore, lockedDuring, lockedAfter)
	}
}
