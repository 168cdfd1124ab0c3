package cudahip

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// gates are a stream's gates. If streams can wait for a word of memory, one word serves all gates
// of a stream. At the n-th gate the stream waits until the word is at least n. A stream is in
// order, so an open gate has no effect while an earlier gate of the stream is shut. Therefore the
// value of the word is the number of gates that are open before the first shut one.
//
// If streams cannot wait for memory, and Vendor.HostGates is set, a gate is a host function that blocks until
// the gate is opened. If the vendor runs host functions one at a time, a shut gate then delays the host
// functions of other streams too.
type gates struct {
	mu   sync.Mutex
	word *signal
	full []*signal // words that have reached gatesPerSignal, which are not used again
}

// signal is a word that a stream waits for.
type signal struct {
	mu    sync.Mutex
	value *atomic.Uint32 // page-locked
	addr  uintptr        // the device's address of it
	next  uint32         // number of the last gate
	open  []bool         // whether each gate after the first *value gates is open
}

// gatesPerSignal is the largest number of a gate. It is small enough for devices that compare the
// word as a signed number.
var gatesPerSignal uint32 = 1<<31 - 1

type gate struct {
	word   *signal
	number uint32
}

func (s *Stream) Gate() (driver.Gate, error) {
	if !s.dev.signals.wait {
		return s.hostGate()
	}
	g := &s.gates
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.word != nil && g.word.next >= gatesPerSignal {
		g.full = append(g.full, g.word)
		g.word = nil
	}
	if g.word == nil {
		word, err := s.dev.signals.take(s.dev)
		if err != nil {
			return nil, err
		}
		g.word = word
	}
	// The numbers follow the order in which the waits are enqueued.
	number := g.word.next + 1
	if code := s.api.WaitValue(s.ctx, s.handle, g.word.addr, number); code != Success {
		return nil, s.dev.fail("gate", CallWaitValue, code)
	}
	w := g.word
	w.mu.Lock()
	w.next = number
	w.open = append(w.open, false)
	w.mu.Unlock()
	return &gate{w, number}, nil
}

func (g *gate) Open() error {
	passed.Add(1) // so that host functions behind the gate see what was written before Open
	w := g.word
	w.mu.Lock()
	defer w.mu.Unlock()
	value := w.value.Load()
	if g.number <= value {
		return nil // pass opened the gate when the stream was closed
	}
	w.open[g.number-value-1] = true
	n := 0
	for n < len(w.open) && w.open[n] {
		n++
	}
	if n > 0 {
		w.open = append(w.open[:0], w.open[n:]...)
		w.value.Store(value + uint32(n))
	}
	return nil
}

func (g *gates) close(d *Device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.full {
		w.pass()
	}
	g.full = nil
	if g.word != nil {
		g.word.pass()
		d.signals.put(g.word)
		g.word = nil
	}
}

// pass opens all gates of a stream that is being closed. No work is left behind them.
func (w *signal) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) > 0 {
		w.value.Store(w.next)
		w.open = w.open[:0]
	}
}

// signals are the words of a device. They are allocated in blocks, and a closed stream's word is
// used again by another stream.
type signals struct {
	wait bool // streams can wait for words

	mu     sync.Mutex
	spare  []*signal
	blocks []uintptr // host addresses
}

func (p *signals) take(d *Device) (*signal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) == 0 {
		host, addr, size, err := d.signalBlock()
		if err != nil {
			return nil, err
		}
		p.blocks = append(p.blocks, host)
		for off := uintptr(0); off < size; off += signalStride {
			value := (*atomic.Uint32)(dl.Pointer(host + off))
			value.Store(0)
			p.spare = append(p.spare, &signal{value: value, addr: addr + off})
		}
	}
	last := len(p.spare) - 1
	w := p.spare[last]
	p.spare = p.spare[:last]
	return w, nil
}

const (
	signalStride = 64   // the distance between words, in bytes, so that each has a cache line of its own
	signalChunk  = 4096 // bytes of one block
)

// signalBlock allocates memory for words: the vendor's memory for a single word, or else a block of page-locked memory.
func (d *Device) signalBlock() (host, addr, size uintptr, err error) {
	if d.api.Has(CallSignalAlloc) {
		word, code := d.api.SignalAlloc(d.ctx)
		if code = allocated(word, code); code != Success {
			return 0, 0, 0, d.fail("gate", CallSignalAlloc, code)
		}
		return word, word, signalStride, nil
	}
	host, code := d.api.HostAlloc(d.ctx, signalChunk)
	if code = allocated(host, code); code != Success {
		return 0, 0, 0, d.fail("gate", CallHostAlloc, code)
	}
	if addr, code = d.api.HostAddr(d.ctx, host); code != Success {
		_ = d.release(CallHostFree, API.HostFree, host)
		return 0, 0, 0, d.fail("gate", CallHostAddr, code)
	}
	return host, addr, signalChunk, nil
}

func (p *signals) put(w *signal) {
	p.mu.Lock()
	p.spare = append(p.spare, w)
	p.mu.Unlock()
}

func (p *signals) close(d *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call, free := CallHostFree, API.HostFree
	if d.api.Has(CallSignalAlloc) {
		call, free = CallMemFree, API.MemFree
	}
	for _, host := range p.blocks {
		_ = d.release(call, free, host)
	}
	p.blocks, p.spare = nil, nil
}

// hostGate is a gate for which a host function blocks. Open closes the channel.
type hostGate chan struct{}

func (s *Stream) hostGate() (driver.Gate, error) {
	g := make(hostGate)
	return g, s.dev.check("gate", CallHostCall, s.dev.calls.enqueue(s, func() { <-g }, nil))
}

// Open implements driver.Gate.
func (g hostGate) Open() error {
	close(g)
	return nil
}
