package cudahiptest

import (
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// Simulated is a simulated driver that a backend loads while the test runs.
type Simulated struct {
	*simgpu.Control
	Library string // path
	Device  string // name of its first device
}

// Simulate builds the simulated drivers of CUDA and HIP, without the given symbols, and makes the backends load them.
// Their settings are restored when the test ends. It skips the test if they cannot be built, as [Libraries] does.
func Simulate(t testing.TB, without ...string) []Simulated {
	t.Helper()
	cuda, hip := Libraries(t, "cuda", without...)
	t.Setenv("HALYARD_CUDA_LIBRARY", cuda)
	t.Setenv("HALYARD_HIP_LIBRARY", hip)
	sims := []Simulated{{attach(t, cuda), cuda, "cuda:0"}, {attach(t, hip), hip, "hip:0"}}
	for _, s := range sims {
		restore := func() {
			for _, setting := range []simgpu.Setting{simgpu.Without, simgpu.Pageable, simgpu.LinkRate} {
				ok(t, s.Set(setting, 0))
			}
			ok(t, s.Set(simgpu.Validate, 1))
			ok(t, s.Reset(0))
		}
		restore()
		t.Cleanup(restore)
	}
	return sims
}

// EachSimulated runs a test on each simulated driver, and then checks with Kept that no rule was
// broken.
func EachSimulated(t *testing.T, test func(t *testing.T, sim Simulated)) {
	for _, s := range Simulate(t) {
		t.Run(s.Device, func(t *testing.T) {
			test(t, s)
			s.Kept(t)
			ok(t, s.Reset(0))
		})
	}
}

// Kept fails and ends the test if one of the driver's rules was broken, or a handle is still alive. The error
// contains the labels.
func (s Simulated) Kept(t testing.TB, labels ...any) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("%s: %sthe driver's rules were broken: %s", s.Device, fmt.Sprintln(labels...), v)
	}
	for _, l := range s.Leaks() {
		t.Errorf("%s: %sstill alive: %s", s.Device, fmt.Sprintln(labels...), l)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// FailEachCall runs test again and again. In the n-th run the n-th vendor call of the work fails. It ends when
// the work makes fewer than n calls; the work must make at least least calls. test prepares the work, passes it
// to during, which runs it, and then checks the result.
func (s Simulated) FailEachCall(t testing.TB, least uint64, test func(n uint64, during func(work func()))) {
	t.Helper()
	for n, past := uint64(1), false; !past; n++ {
		ok(t, s.Reset(n))
		test(n, func(work func()) {
			before := s.CallCount()
			s.FailCall(n, 999)
			work()
			past = s.CallCount()-before < n
			s.FailCall(0, 0)
		})
		s.Kept(t, "call", n)
		if past && n <= least {
			t.Fatalf("the work has %d calls, not %d", n-1, least)
		}
	}
}

// The rates of a modelled bus, for page-locked memory and for pageable memory. The driver copies pageable memory through
// a buffer of its own, on the calling thread. The rates are a fiftieth of those of a PCIe 4 link of 25 GB/s with a driver
// that stages 10 GB/s. At these rates the processors of any machine keep up, so the model alone determines the result.
const (
	LinkLocked   = 500_000 // bytes in a millisecond
	LinkPageable = 200_000
)

// SlowLink puts the driver's devices behind such a bus. It turns off the validator, which costs
// time.
func (s Simulated) SlowLink(t testing.TB) {
	t.Helper()
	ok(t, s.Set(simgpu.Validate, 0))
	ok(t, s.Set(simgpu.Pageable, LinkPageable))
	s.PeerAccess(LinkLocked)
}
