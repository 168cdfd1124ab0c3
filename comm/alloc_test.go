package comm_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Operations take no memory once some have ended: what the engine allocates aside, for which a job has to be replaced by one that does not.
func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	j := commtest.New(1)
	defer j.Close()
	for name, world := range map[string]func(e *mirror) driver.Comm{
		"Isend and Irecv":           func(e *mirror) driver.Comm { return mirrorComm{e.Engine.World(), e} },
		"PromptSend and PromptRecv": func(e *mirror) driver.Comm { return promptComm{mirrorComm{e.Engine.World(), e}} },
	} {
		t.Run(name, func(t *testing.T) { steadyState(t, comm.New(&mirror{Engine: j.Engine(0), world: world})) })
	}
}

func steadyState(t *testing.T, c *comm.Comm) {
	ctx := context.Background()
	a, b := buffered(numbers(100, 0)), buffered(make([]float64, 100))
	part, err := b.Slice(10, 60)
	require.NoError(t, err)
	half, err := a.Slice(0, 50)
	require.NoError(t, err)
	data := make([]int64, 3)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name string
		call func()
	}{
		{"Isend, Irecv and Wait of buffers", func() {
			r, err := comm.Irecv(ctx, c, b, 0, 1)
			must(err)
			s, err := comm.Isend(ctx, c, a, 0, 1)
			must(err)
			_, err = s.Wait(ctx)
			must(err)
			got, err := r.Wait(ctx)
			must(err)
			if got.Count != 100 {
				t.Fatal(got)
			}
		}},
		{"Isend, Irecv and Test of slices of buffers", func() {
			r, err := comm.Irecv(ctx, c, part, comm.AnySource, comm.AnyTag)
			must(err)
			s, err := comm.Isend(ctx, c, half, 0, 1)
			must(err)
			for _, q := range [2]*comm.Request{r, s} {
				for done := false; !done; {
					_, done, err = q.Test()
					must(err)
				}
			}
		}},
		{"messages of nobody", func() {
			r, err := comm.Irecv(ctx, c, part, comm.ProcNull, 1)
			must(err)
			must(comm.Send(ctx, c, half, comm.ProcNull, 1))
			_, err = r.Wait(ctx)
			must(err)
		}},
		{"Sendrecv", func() {
			_, err := comm.Sendrecv(ctx, c, half, 0, 1, part, 0, 1)
			must(err)
		}},
		{"Sendrecv in place", func() {
			_, err := comm.Sendrecv(ctx, c, half, 0, 1, half, 0, 1)
			must(err)
		}},
		{"Irecv, Send and Wait", func() {
			r, err := comm.Irecv(ctx, c, b, 0, 1)
			must(err)
			must(comm.Send(ctx, c, a, 0, 1))
			_, err = r.Wait(ctx)
			must(err)
		}},
		{"Send and Recv", func() {
			must(comm.Send(ctx, c, a, 0, 1))
			_, err := comm.Recv(ctx, c, b, 0, 1)
			must(err)
		}},
		{"slices", func() {
			must(comm.SendSlice(ctx, c, data, 0, 1))
			_, err := comm.RecvSlice(ctx, c, data, 0, 1)
			must(err)
		}},
	} {
		require.Zero(t, testing.AllocsPerRun(200, row.call), row.name)
	}
	require.Equal(t, numbers(100, 0)[:50], contents(half))
	for _, b := range []*buffer.Buffer[float64]{a, b} {
		require.NoError(t, b.Close())
	}
	require.NoError(t, c.Close())
}

// mirror is an engine of one rank, for one message at a time, which it keeps in memory of its own.
type mirror struct {
	driver.Engine
	world        func(e *mirror) driver.Comm
	sent, posted bool
	n            uint64
	at           unsafe.Pointer
	message      [1024]byte
}

const (
	mirrorSend driver.Request = 1 + iota
	mirrorReceive
)

func (e *mirror) World() driver.Comm { return e.world(e) }

type mirrorComm struct {
	driver.Comm
	e *mirror
}

func (c mirrorComm) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	c.e.n = uint64(copy(c.e.message[:], unsafe.Slice((*byte)(p), n)))
	c.e.sent = true
	return mirrorSend, nil
}

func (c mirrorComm) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	c.e.at, c.e.posted = p, true
	return mirrorReceive, nil
}

func (e *mirror) Test(reqs []driver.Request, out []driver.Status) (done int, err error) {
	for i, r := range reqs {
		switch {
		case r == mirrorReceive && e.sent && e.posted:
			copy(unsafe.Slice((*byte)(e.at), e.n), e.message[:e.n])
			e.sent, e.posted = false, false
			out[i] = driver.Status{Tag: 1, Bytes: e.n}
		case r != mirrorSend:
			continue
		}
		reqs[i] = 0
		done++
	}
	return done, nil
}

// promptComm is a mirrorComm whose PromptSend and PromptRecv report messages that are done.
type promptComm struct{ mirrorComm }

func (c promptComm) PromptSend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, driver.Status, error) {
	_, err := c.Isend(p, n, dest, tag)
	return 0, driver.Status{}, err
}

func (c promptComm) PromptRecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, driver.Status, error) {
	id, err := c.Irecv(p, n, source, tag)
	reqs, out := [1]driver.Request{id}, [1]driver.Status{}
	_, _ = c.e.Test(reqs[:], out[:])
	return reqs[0], out[0], err
}
