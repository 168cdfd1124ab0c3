package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// trial is one rank's run of a check.
type trial struct {
	ctx        context.Context
	e          driver.Engine
	c          driver.Comm
	rank, size int
	rng        *rand.Rand // the same on every rank
	lose       func(rank int)
	areas      []*area
}

func newTrial(ctx context.Context, e driver.Engine, c driver.Comm, lose func(rank int)) *trial {
	return &trial{ctx: ctx, e: e, c: c, rank: c.Rank(), size: c.Size(), rng: rand.New(rand.NewPCG(1, 2)), lose: lose}
}

// failure is what a check panics with.
type failure string

func (t *trial) fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// protect returns what fn reports with fatalf.
func (t *trial) protect(fn func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s", string(p))
		default:
			panic(p)
		}
	}()
	fn()
	return nil
}

func (t *trial) must(err error, what string) {
	if err != nil {
		t.fatalf("%s: %v", what, err)
	}
}

func (t *trial) equal(got, want any, format string, args ...any) {
	if got != want {
		t.fatalf("%s: %v, not %v", fmt.Sprintf(format, args...), got, want)
	}
}

// margin is how many bytes before and after an area must not change.
const margin = 64

// area is memory of the engine, with margins.
type area struct {
	t     *trial
	p     unsafe.Pointer
	b     []byte
	whole []byte
}

func (t *trial) area(n int) *area {
	p, err := t.e.Alloc(uint64(n + 2*margin))
	t.must(err, "Alloc")
	a := &area{t: t, p: unsafe.Add(p, margin), whole: unsafe.Slice((*byte)(p), n+2*margin)}
	a.b = a.whole[margin : margin+n]
	copy(a.whole, bytes.Repeat([]byte{0xee}, margin))
	copy(a.whole[margin+n:], bytes.Repeat([]byte{0xee}, margin))
	t.areas = append(t.areas, a)
	return a
}

func (a *area) n() uint64 { return uint64(len(a.b)) }

// intact fails the check if a margin was written.
func (a *area) intact() {
	if a.whole == nil {
		return
	}
	for i, v := range a.whole {
		if (i < margin || i >= margin+len(a.b)) && v != 0xee {
			a.t.fatalf("byte %d of memory of %d bytes was written", i-margin, len(a.b))
		}
	}
}

func (a *area) free() {
	if a.whole != nil {
		a.intact()
		a.t.e.Free(unsafe.Pointer(unsafe.SliceData(a.whole)), uint64(len(a.whole)))
		a.whole = nil
	}
}

// tidy frees what the check used.
func (t *trial) tidy() {
	for _, a := range t.areas {
		a.free()
	}
	t.areas = nil
	t.must(t.c.Free(), "Free")
}

// fill writes bytes that depend on rank, number and index.
func fill(b []byte, rank, number int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + rank*31 + number*57 + 1)
	}
}

// holds fails the check unless b is what fill writes.
func (t *trial) holds(b []byte, rank, number int, what string) {
	want := make([]byte, len(b))
	fill(want, rank, number)
	if !bytes.Equal(b, want) {
		for i := range b {
			if b[i] != want[i] {
				t.fatalf("%s: byte %d of %d is %d, not %d", what, i, len(b), b[i], want[i])
			}
		}
	}
}

func (t *trial) isend(a *area, n, dest, tag int) driver.Request {
	r, err := t.c.Isend(a.p, uint64(n), dest, tag)
	t.must(err, "Isend")
	return t.begun(r, "Isend")
}

func (t *trial) irecv(a *area, source, tag int) driver.Request {
	r, err := t.c.Irecv(a.p, a.n(), source, tag)
	t.must(err, "Irecv")
	return t.begun(r, "Irecv")
}

func (t *trial) begun(r driver.Request, op string) driver.Request {
	if r == 0 {
		t.fatalf("%s returns no request, and no error", op)
	}
	return r
}

// prompted is what a call of a driver.Prompter returned.
type prompted struct {
	r  driver.Request
	st driver.Status
}

func (t *trial) prompt(r driver.Request, st driver.Status, err error) prompted {
	t.must(err, "PromptSend or PromptRecv")
	if r != 0 && st != (driver.Status{}) {
		t.fatalf("a request that is not done has the status %+v", st)
	}
	return prompted{r, st}
}

// answer waits for the message, unless the call has reported its end.
func (t *trial) answer(p prompted) driver.Status {
	if p.r != 0 {
		return t.wait(p.r)[0]
	}
	t.must(p.st.Err, "message")
	return p.st
}

// finish tests requests until all are done.
func (t *trial) finish(reqs ...driver.Request) []driver.Status {
	out := make([]driver.Status, len(reqs))
	left := 0
	for _, r := range reqs {
		if r != 0 {
			left++
		}
	}
	for left > 0 {
		n, err := t.e.Test(reqs, out)
		t.must(err, "Test")
		left -= n
		if n == 0 {
			if t.ctx.Err() != nil {
				t.fatalf("%d of %d requests are not done: %v", left, len(reqs), context.Cause(t.ctx))
			}
			runtime.Gosched()
		}
	}
	for i, r := range reqs {
		if r != 0 {
			t.fatalf("Test counted request %d, and did not set it to 0", i)
		}
	}
	return out
}

// wait is finish for requests that must not fail.
func (t *trial) wait(reqs ...driver.Request) []driver.Status {
	out := t.finish(reqs...)
	for i, s := range out {
		if s.Err != nil {
			t.fatalf("request %d of %d: %v", i, len(out), s.Err)
		}
		if s.Cancelled {
			t.fatalf("request %d of %d says that it was cancelled", i, len(out))
		}
	}
	return out
}

// early tests a request many times, and reports whether it is done.
func (t *trial) early(r *driver.Request) bool {
	reqs, out := []driver.Request{*r}, make([]driver.Status, 1)
	for range 200 {
		n, err := t.e.Test(reqs, out)
		t.must(err, "Test")
		if n > 0 {
			t.must(out[0].Err, "request")
			*r = 0
			return true
		}
		runtime.Gosched()
	}
	return false
}

func (t *trial) collective(c driver.Collective) {
	t.wait(t.icollective(c))
}

func (t *trial) icollective(c driver.Collective) driver.Request {
	r, err := t.c.Collective(c)
	t.must(err, c.Call.String())
	return t.begun(r, c.Call.String())
}

// signal and await send and receive a message of one byte. Checks use them to order what ranks do.
func (t *trial) signal(dest, tag int)  { t.wait(t.isend(t.area(1), 1, dest, tag)) }
func (t *trial) await(source, tag int) { t.wait(t.irecv(t.area(1), source, tag)) }
