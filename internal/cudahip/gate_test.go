package cudahip

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// words is an API that supports only waits for words of memory, and records them.
type words struct {
	API
	blocks [][]byte
	freed  int
	waits  []wait
	refuse Code // what the next wait returns
}

type wait struct {
	addr  uintptr
	value uint32
}

func (*words) Has(c Call) bool { return c == CallWaitValue }

func (w *words) HostAlloc(_ Context, size uintptr) (uintptr, Code) {
	b := make([]byte, size)
	for i := range b {
		b[i] = 0xff // contents of an earlier use
	}
	w.blocks = append(w.blocks, b)
	return uintptr(unsafe.Pointer(&b[0])), Success
}

func (*words) HostAddr(_ Context, host uintptr) (uintptr, Code) { return host, Success }

func (w *words) HostFree(Context, uintptr) Code { w.freed++; return Success }

func (w *words) WaitValue(_ Context, _, addr uintptr, value uint32) Code {
	if code := w.refuse; code != Success {
		w.refuse = Success
		return code
	}
	if value > gatesPerSignal {
		return CodeInvalidValue
	}
	w.waits = append(w.waits, wait{addr, value})
	return Success
}

func (w *words) StreamDestroy(Context, uintptr) Code { return Success }

func (w *words) Name(Call) string { return "wait" }

// passed returns how many of the first waits let their stream continue.
func (w *words) passed() int {
	for i, x := range w.waits {
		if (*atomic.Uint32)(dl.Pointer(x.addr)).Load() < x.value {
			return i
		}
	}
	return len(w.waits)
}

func wordDevice() (*Device, *words) {
	w := &words{}
	d := &Device{api: w, lib: &library{vendor: &Vendor{Name: "test", Codes: Codes{1: {Kind: driver.ErrInvalidArgument}}}, api: w}}
	d.signals.wait = true
	return d, w
}

func TestGatesLetThroughWhatIsOpenFromTheFirstOn(t *testing.T) {
	defer func(n uint32) { gatesPerSignal = n }(gatesPerSignal)
	gatesPerSignal = 5 // so that streams run out of numbers
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		d, w := wordDevice()
		s := &Stream{dev: d, api: w}
		var gates []driver.Gate
		var shut []int
		open := make([]bool, 40)
		for len(gates) < 40 || len(shut) > 0 {
			if len(gates) < 40 && (len(shut) == 0 || rng.IntN(2) == 0) {
				g, err := s.Gate()
				if err != nil {
					t.Fatal(err)
				}
				shut = append(shut, len(gates))
				gates = append(gates, g)
			} else {
				i := rng.IntN(len(shut))
				if err := gates[shut[i]].Open(); err != nil {
					t.Fatal(err)
				}
				open[shut[i]] = true
				shut = append(shut[:i], shut[i+1:]...)
			}
			want := 0
			for want < len(gates) && open[want] {
				want++
			}
			if got := w.passed(); got != want {
				t.Fatalf("the stream passes %d of %d gates, want %d", got, len(gates), want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		d.signals.close(d)
		if w.freed != len(w.blocks) {
			t.Fatalf("%d of %d blocks were given back", w.freed, len(w.blocks))
		}
	}
}

func TestWordsGoFromStreamToStream(t *testing.T) {
	d, w := wordDevice()
	for range 10 {
		s := &Stream{dev: d, api: w}
		for range 3 {
			g, err := s.Gate()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Open(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.blocks) != 1 || w.passed() != 30 {
		t.Errorf("%d blocks for one stream at a time, %d of 30 gates passed", len(w.blocks), w.passed())
	}
}

func TestGateOfAClosedStreamOpensNothingElse(t *testing.T) {
	d, w := wordDevice()
	lost := &Stream{dev: d, api: w}
	stale, err := lost.Gate()
	if err != nil {
		t.Fatal(err)
	}
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Stream{dev: d, api: w}
	g, err := s.Gate()
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Open(); err != nil {
		t.Fatal(err)
	}
	if w.passed() != 1 {
		t.Error("a gate of a closed stream opened another's")
	}
	if err := g.Open(); err != nil || w.passed() != 2 {
		t.Errorf("the gate did not open: %v", err)
	}
}

func TestGateThatTheDriverRefusesHasNoNumber(t *testing.T) {
	d, w := wordDevice()
	s := &Stream{dev: d, api: w}
	w.refuse = CodeInvalidValue
	if _, err := s.Gate(); err == nil {
		t.Fatal("no error")
	}
	g, err := s.Gate()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Open(); err != nil || w.passed() != 1 {
		t.Errorf("a gate after a refused one does not open: %v", err)
	}
}
