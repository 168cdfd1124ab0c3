package cudahiptest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

// A mutant is a bug that is planted between a backend and its driver.
type mutant struct {
	name  string
	plant func(cudahip.API) cudahip.API
}

// sound is the mutant without a bug. It shows that the suite finds nothing where there is no bug.
const sound = "nothing"

var mutants = []mutant{
	{sound, func(a cudahip.API) cudahip.API { return a }},
	{"forgets to make the device current", func(a cudahip.API) cudahip.API { return &staleContext{API: a} }},
	{"does not wait for events", func(a cudahip.API) cudahip.API { return noWait{a} }},
	{"copies in on another stream", func(a cudahip.API) cudahip.API { return copyInElsewhere{a} }},
	{"copies out on another stream", func(a cudahip.API) cudahip.API { return copyOutElsewhere{a} }},
	{"fills on another stream", func(a cudahip.API) cudahip.API { return fillElsewhere{a} }},
	{"records on another stream", func(a cudahip.API) cudahip.API { return recordElsewhere{a} }},
	{"copies in the wrong direction", func(a cudahip.API) cudahip.API { return swapped{a} }},
	{"copies one byte too few", func(a cudahip.API) cudahip.API { return shortCopy{a} }},
	{"loses the offset of a copy", func(a cudahip.API) cudahip.API { return noOffset{a} }},
	{"counts bytes where elements belong", func(a cudahip.API) cudahip.API { return byteCount{a} }},
	{"drops half of a pattern", func(a cudahip.API) cudahip.API { return halfPattern{a} }},
	{"says that a busy stream is idle", func(a cudahip.API) cudahip.API { return neverBusy{a} }},
	{"does not wait for a stream", func(a cudahip.API) cudahip.API { return noStreamSync{a} }},
	{"says that an event has happened", func(a cudahip.API) cudahip.API { return eventDone{a} }},
	{"does not wait for an event on the host", func(a cudahip.API) cudahip.API { return noEventSync{a} }},
	{"frees memory at once", func(a cudahip.API) cudahip.API { return freed{a} }},
	{"never frees memory", func(a cudahip.API) cudahip.API { return neverFree{a} }},
	{"gates let work through", func(a cudahip.API) cudahip.API { return openGate{a} }},
	{"calls back at once", func(a cudahip.API) cudahip.API { return callNow{a} }},
	{"hides that a copy failed", func(a cudahip.API) cudahip.API { return hidden{a} }},
	{"calls a shortage an invalid argument", func(a cudahip.API) cudahip.API { return noShortage{a} }},
	{"times backwards", func(a cudahip.API) cudahip.API { return backwards{a} }},
	{"copies to the wrong peer", func(a cudahip.API) cudahip.API { return wrongPeer{a} }},
	{"keeps its context", func(a cudahip.API) cudahip.API { return noRelease{a} }},
	{"swaps free and total memory", func(a cudahip.API) cudahip.API { return swappedInfo{a} }},
	{"never closes streams", func(a cudahip.API) cudahip.API { return noStreamDestroy{a} }},
}

// defaultStream is the stream that every context has.
const defaultStream = 0

type staleContext struct {
	cudahip.API
	once  sync.Once
	first cudahip.Context
}

func (m *staleContext) Fill8(ctx cudahip.Context, dst uintptr, v uint8, n, s uintptr) cudahip.Code {
	m.once.Do(func() { m.first, _ = m.Retain(1); _ = m.Release(1) })
	return m.API.Fill8(m.first, dst, v, n, s)
}

type noWait struct{ cudahip.API }

func (noWait) StreamWait(cudahip.Context, uintptr, uintptr) cudahip.Code { return cudahip.Success }

type copyInElsewhere struct{ cudahip.API }

func (m copyInElsewhere) CopyIn(ctx cudahip.Context, dst, host, n, _ uintptr) cudahip.Code {
	return m.API.CopyIn(ctx, dst, host, n, defaultStream)
}

type copyOutElsewhere struct{ cudahip.API }

func (m copyOutElsewhere) CopyOut(ctx cudahip.Context, host, src, n, _ uintptr) cudahip.Code {
	return m.API.CopyOut(ctx, host, src, n, defaultStream)
}

type fillElsewhere struct{ cudahip.API }

func (m fillElsewhere) Fill8(ctx cudahip.Context, dst uintptr, v uint8, n, _ uintptr) cudahip.Code {
	return m.API.Fill8(ctx, dst, v, n, defaultStream)
}

type recordElsewhere struct{ cudahip.API }

func (m recordElsewhere) EventRecord(ctx cudahip.Context, event, _ uintptr) cudahip.Code {
	return m.API.EventRecord(ctx, event, defaultStream)
}

type swapped struct{ cudahip.API }

func (m swapped) CopyDevice(ctx cudahip.Context, dst, src, n, s uintptr) cudahip.Code {
	return m.API.CopyDevice(ctx, src, dst, n, s)
}

type shortCopy struct{ cudahip.API }

func (m shortCopy) CopyOut(ctx cudahip.Context, host, src, n, s uintptr) cudahip.Code {
	if n == 1 {
		return m.API.CopyOut(ctx, host, src, n, s)
	}
	return m.API.CopyOut(ctx, host, src, n-1, s)
}

type noOffset struct{ cudahip.API }

func (m noOffset) CopyIn(ctx cudahip.Context, dst, host, n, s uintptr) cudahip.Code {
	return m.API.CopyIn(ctx, dst&^255, host, n, s)
}

type byteCount struct{ cudahip.API }

func (m byteCount) Fill32(ctx cudahip.Context, dst uintptr, v uint32, n, s uintptr) cudahip.Code {
	return m.API.Fill32(ctx, dst, v, 4*n, s)
}

type halfPattern struct{ cudahip.API }

func (m halfPattern) Fill16(ctx cudahip.Context, dst uintptr, v uint16, n, s uintptr) cudahip.Code {
	return m.API.Fill16(ctx, dst, v&0xff, n, s)
}

type neverBusy struct{ cudahip.API }

func (neverBusy) StreamQuery(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

type noStreamSync struct{ cudahip.API }

func (noStreamSync) StreamSync(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

type eventDone struct{ cudahip.API }

func (eventDone) EventQuery(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

type noEventSync struct{ cudahip.API }

func (noEventSync) EventSync(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

type freed struct{ cudahip.API }

func (m freed) MemAlloc(ctx cudahip.Context, size uintptr) (uintptr, cudahip.Code) {
	addr, code := m.API.MemAlloc(ctx, size)
	if code == cudahip.Success {
		code = m.API.MemFree(ctx, addr)
	}
	return addr, code
}

type neverFree struct{ cudahip.API }

func (neverFree) MemFree(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

type openGate struct{ cudahip.API }

func (openGate) WaitValue(cudahip.Context, uintptr, uintptr, uint32) cudahip.Code {
	return cudahip.Success
}

type callNow struct{ cudahip.API }

func (callNow) HostCall(_ cudahip.Context, _ uintptr, fn func()) (uintptr, cudahip.Code) {
	fn()
	return 1, cudahip.Success
}

func (callNow) HostCancel(uintptr) bool { return true }

type hidden struct{ cudahip.API }

func (m hidden) CopyIn(ctx cudahip.Context, dst, host, n, s uintptr) cudahip.Code {
	m.API.CopyIn(ctx, dst, host, n, s)
	return cudahip.Success
}

type noShortage struct{ cudahip.API }

func (m noShortage) MemAlloc(ctx cudahip.Context, size uintptr) (uintptr, cudahip.Code) {
	addr, code := m.API.MemAlloc(ctx, size)
	if code == cudahip.CodeOutOfMemory {
		code = cudahip.CodeInvalidValue
	}
	return addr, code
}

type backwards struct{ cudahip.API }

func (m backwards) EventElapsed(ctx cudahip.Context, from, to uintptr) (float32, cudahip.Code) {
	ms, code := m.API.EventElapsed(ctx, from, to)
	return -1 - ms, code
}

type wrongPeer struct{ cudahip.API }

func (m wrongPeer) CopyPeer(ctx cudahip.Context, dst uintptr, dstCtx cudahip.Context, src uintptr, srcCtx cudahip.Context, n, s uintptr) cudahip.Code {
	return m.API.CopyPeer(ctx, dst, srcCtx, src, dstCtx, n, s)
}

type noRelease struct{ cudahip.API }

func (noRelease) Release(int32) cudahip.Code { return cudahip.Success }

type swappedInfo struct{ cudahip.API }

func (m swappedInfo) MemInfo(ctx cudahip.Context) (free, total uintptr, code cudahip.Code) {
	free, total, code = m.API.MemInfo(ctx)
	return total, free, code
}

type noStreamDestroy struct{ cudahip.API }

func (noStreamDestroy) StreamDestroy(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

// PlantedBugs runs the shared suite on backends with one bug each. The suite, or the validator of the
// simulated driver, must find every bug. vendor returns the description of the backends.
//
// The same code makes the calls of both backends, but for waits for events, so each bug is tried with one of them: every second bug, and those that HIP cannot have, with
// CUDA, and the rest with HIP.
//
// Every bug gets a process of its own, so that what it leaves behind, such as goroutines that wait for ever, does
// not disturb the next. If the program is not linked with the library, every bug also gets a copy of the library.
func PlantedBugs(t *testing.T, h *Harness, vendor func() *cudahip.Vendor) {
	codes := vendor().Codes
	plant := func(bug func(cudahip.API) cudahip.API) driver.Backend {
		v := vendor()
		bind := v.Bind
		v.Bind = func(lib *dl.Library) (cudahip.API, error) {
			api, err := bind(lib)
			if err != nil {
				return nil, err
			}
			return bug(api), nil
		}
		return cudahip.NewBackend(v)
	}
	image, err := os.ReadFile(h.Library)
	ok(t, err)
	linked, alone := h.Binding == "linked", os.Getenv(plantedVariable)
	for i, m := range slices.Concat(mutants, launchMutants) {
		launches := i >= len(mutants)
		contexts := m.name == "keeps its context" // HIP has no calls to retain and release contexts
		mine := h.Retain != "" == (contexts || i%2 == 0) || m.name == sound
		if !mine || alone != "" && alone != m.name {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if raceEnabled && m.name != sound {
				t.Skip("the suite finds planted bugs without the race detector, and in a fraction of the time")
			}
			if launches {
				h.needCompiler(t)
			}
			if alone == "" {
				plantElsewhere(t, m.name)
				return
			}
			own := *h
			if !linked {
				own.Library = filepath.Join(t.TempDir(), filepath.Base(h.Library))
				ok(t, os.WriteFile(own.Library, image, 0o755))
			}
			own.New = func() driver.Backend { return plant(m.plant) }
			own.start(t)
			own.calm(t, uint64(i)+1)
			suite := own.Suite(codes)
			suite.Short = true
			if launches {
				suite.Match, suite.Timeout = "^Kernels/", 10*time.Second
			}
			switch found := own.finds(t, suite); {
			case m.name == sound && found != "":
				t.Errorf("%s finds a bug where there is none", found)
			case m.name != sound && found == "":
				t.Error("nothing finds the bug")
			default:
				t.Log("found by ", found)
			}
		})
	}
}

// plantedVariable names the bug that a process started by plantElsewhere plants.
const plantedVariable = "HALYARD_TEST_PLANTED"

// plantElsewhere runs the test of one bug in a process of its own.
func plantElsewhere(t *testing.T, bug string) {
	program, err := os.Executable()
	ok(t, err)
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(program, "-test.v", "-test.run", "^"+test+"$")
	cmd.Env = append(os.Environ(), plantedVariable+"="+bug)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
		return
	}
	if _, found, ok := bytes.Cut(out, []byte("found by ")); ok {
		line, _, _ := bytes.Cut(found, []byte("\n"))
		t.Logf("found by %s", line)
	}
}

// finds runs the suite until a check fails or a rule of the driver is broken, and returns a
// description of that, or else of what is still alive in the driver afterwards. It returns "" if nothing was found.
func (h *Harness) finds(t *testing.T, suite conformance.Harness) (found string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := conformance.Execute(ctx, suite, func(r conformance.Result) {
		if found != "" {
			return
		}
		switch v := h.sim.Violations(); {
		case r.Outcome == conformance.Failed:
			found = r.Check.Name + ": " + strings.Join(r.Log, "; ")
		case len(v) > 0:
			found = fmt.Sprintf("the driver in %s: %s", r.Check.Name, v[0])
		default:
			return
		}
		cancel()
	})
	if err != nil && found == "" {
		t.Fatal(err)
	}
	if l := h.sim.Leaks(); found == "" && len(l) > 0 {
		found = "the driver afterwards: still alive: " + l[0]
	}
	return found
}
