package hal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// closer notes its name when it is closed.
type closer struct {
	name string
	log  *[]string
	err  error
}

func (c *closer) Close() error {
	*c.log = append(*c.log, c.name)
	return c.err
}

func TestCloseAll(t *testing.T) {
	var log []string
	one, two := errors.New("one"), errors.New("two")
	a, b, c := &closer{"a", &log, one}, &closer{"b", &log, nil}, &closer{"c", &log, two}
	err := hal.CloseAll(a, nil, b, (*hal.Stream)(nil), (*buffer.Buffer[int8])(nil), c)
	require.Equal(t, []string{"c", "b", "a"}, log)
	require.ErrorIs(t, err, one)
	require.ErrorIs(t, err, two)
	require.Equal(t, "two\none", err.Error())
	require.NoError(t, hal.CloseAll())

	// A device that is closed before what lies on it would refuse.
	d, err := hal.OpenWith(t.Context(), host.New(host.Options{Name: "all", Discrete: 1}), 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 16, 0)
	require.NoError(t, err)
	x, err := buffer.From([]int32{1})
	require.NoError(t, err)
	require.NoError(t, x.SyncTo(t.Context(), d))
	require.ErrorIs(t, d.Close(), hal.ErrBusy)
	require.NoError(t, hal.CloseAll(d, s, m, x))
	require.ErrorIs(t, layer.Err(s), hal.ErrClosed)
	require.ErrorIs(t, x.CopyOut(t.Context(), []int32{0}), hal.ErrClosed)
	_, err = d.Alloc(hal.KindDevice, 16, 0)
	require.ErrorIs(t, err, hal.ErrClosed)
}

func ExampleCloseAll() {
	work := func(ctx context.Context) (err error) {
		var dev *hal.Device
		var in, out *hal.Stream
		defer func() { err = errors.Join(err, hal.CloseAll(dev, in, out)) }() // those that were made
		if dev, err = hal.OpenWith(ctx, host.New(host.Options{}), 0); err != nil {
			return err
		}
		if in, err = dev.NewStream(); err != nil {
			return err
		}
		out, err = dev.NewStream()
		return err
	}
	fmt.Println(work(context.Background()))
	// Output: <nil>
}
