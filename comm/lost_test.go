package comm_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// What a failed operation was to write does not read as if it had been written.
func TestAFailedReceiveLosesItsElements(t *testing.T) {
	for name, row := range map[string]struct {
		kind error
		says string
		fail func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error
	}{
		"deadline": {comm.ErrTimeout, "Irecv (rank 1, tag 3, 32 bytes", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := comm.Irecv(t.Context(), c, part, 1, 3)
			require.NoError(t, err)
			cancel()
			_, err = r.Wait(ctx)
			return err
		}},
		"truncated message": {comm.ErrTruncated, "Recv (rank 1, tag 3, 32 bytes", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			other := comm.New(j.Engine(1))
			require.NoError(t, comm.SendSlice(t.Context(), other, numbers(5, 1), 0, 3))
			_, err := comm.Recv(t.Context(), c, part, 1, 3)
			return err
		}},
		"parts of elements": {comm.ErrMismatch, "Recv (rank 1, tag 3, 31 bytes", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			other := comm.New(j.Engine(1))
			require.NoError(t, comm.SendSlice(t.Context(), other, make([]int8, 31), 0, 3))
			_, err := comm.Recv(t.Context(), c, part, 1, 3)
			return err
		}},
		"lost rank": {comm.ErrRankLost, "recv (rank 1, tag 3, 32 bytes", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			r, err := comm.Irecv(t.Context(), c, part, 1, 3)
			require.NoError(t, err)
			j.Lose(1)
			_, err = r.Wait(t.Context())
			return err
		}},
		"lost rank while replaced": {comm.ErrRankLost, "recv (rank 1, tag 3, 32 bytes", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			j.Lose(1)
			_, err := comm.Sendrecv(t.Context(), c, part, 0, 9, part, 1, 3)
			return err
		}},
		"lost rank in a reduction": {comm.ErrRankLost, "llreduce", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			j.Lose(1)
			return comm.Allreduce(t.Context(), c, part, part, comm.Sum)
		}},
		"refused by the engine": {hal.ErrUnsupported, "Irecv", func(t *testing.T, j *commtest.Job, c *comm.Comm, part *buffer.Buffer[float64]) error {
			r, err := comm.Irecv(t.Context(), comm.New(refusing{j.Engine(0)}), part, 1, 3)
			require.Nil(t, r)
			return err
		}},
	} {
		check := func(t *testing.T, c *comm.Comm, j *commtest.Job, b *buffer.Buffer[float64], s *hal.Stream) {
			part, err := b.Slice(2, 6)
			require.NoError(t, err)

			failed := row.fail(t, j, c, part)
			require.ErrorIs(t, failed, row.kind)
			require.ErrorContains(t, failed, row.says)
			for range 2 {
				err = b.View(t.Context(), func([]float64) error { panic("ran") })
				require.ErrorIs(t, err, failed)
				require.ErrorIs(t, err, hal.ErrDeviceLost)
				require.ErrorContains(t, err, row.says)
			}
			_, err = part.TryAcquire(s, coherence.Read)
			require.ErrorIs(t, err, failed)
			for _, ends := range [][2]int{{0, 2}, {6, 8}} {
				rest, err := b.Slice(ends[0], ends[1])
				require.NoError(t, err)
				require.Equal(t, numbers(8, 0)[ends[0]:ends[1]], contents(rest))
			}
			require.NoError(t, part.Overwrite(t.Context(), func(s []float64) error { copy(s, numbers(6, 0)[2:]); return nil }))
			require.Equal(t, numbers(8, 0), contents(b))
			require.NoError(t, b.Close())
		}
		t.Run(name, func(t *testing.T) {
			j := commtest.New(2)
			defer j.Close()
			b := buffered(numbers(8, 0))
			d, s := device(t)
			require.NoError(t, b.SyncTo(t.Context(), d))
			check(t, comm.New(j.Engine(0)), j, b, s)
		})
	}
}

// An operation in place that was refused has changed nothing.
func TestARefusedReductionInPlaceKeepsItsElements(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	c := comm.New(refusing{j.Engine(0)})
	b := buffered(numbers(8, 0))
	require.ErrorIs(t, comm.Allreduce(t.Context(), c, b, b, comm.Sum), hal.ErrUnsupported)
	require.NoError(t, c.Err())
	require.Equal(t, numbers(8, 0), contents(b))
	require.NoError(t, b.Close())
}

// refusing refuses receives and collective operations.
type refusing struct{ driver.Engine }

type refusingComm struct{ driver.Comm }

func (e refusing) World() driver.Comm { return refusingComm{e.Engine.World()} }

func (refusingComm) Irecv(_ unsafe.Pointer, _ uint64, _, _ int) (driver.Request, error) {
	return 0, driver.Errorf("Irecv", driver.ErrUnsupported, "no receives")
}

func (refusingComm) Collective(driver.Collective) (driver.Request, error) {
	return 0, driver.Errorf("Allreduce", driver.ErrUnsupported, "no reductions")
}

// device is a host device with memory of its own, and a stream of it.
func device(t *testing.T) (*hal.Device, *hal.Stream) {
	t.Helper()
	d := fixture.Device(t, host.New(host.Options{Name: "host", Discrete: 1}), 1)
	return d, fixture.Stream(t, d)
}
