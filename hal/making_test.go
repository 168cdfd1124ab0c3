package hal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A device that is closed while something is made on it does not wait for what nobody was given.
func TestCloseWhileMaking(t *testing.T) {
	for name, make1 := range map[string]func(d *hal.Device) error{
		"stream": func(d *hal.Device) error { _, err := d.NewStream(); return err },
		"memory": func(d *hal.Device) error { _, err := d.Alloc(hal.KindDevice, 64, 0); return err },
		"event": func(d *hal.Device) error {
			s, err := d.CopyStream(true)
			if err == nil {
				_, err = s.Record()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, out := make(chan struct{}), make(chan struct{})
			b := &hooked.Backend{Backend: host.New(host.Options{})}
			d, err := hal.OpenWith(context.Background(), b, 0)
			require.NoError(t, err)
			_, err = d.CopyStream(true)
			require.NoError(t, err)
			b.Call = func(op string, _ int) error {
				if op == "NewStream" || op == "Alloc" || op == "NewEvent" {
					in <- struct{}{}
					<-out
				}
				return nil
			}
			made := make(chan error, 1)
			go func() { made <- make1(d) }()
			<-in
			closed := make(chan error, 1)
			go func() { closed <- d.Close() }()
			require.Eventually(t, func() bool { _, _, err := d.MemInfo(); return errors.Is(err, hal.ErrClosed) }, 10*time.Second, time.Millisecond)
			out <- struct{}{}
			require.ErrorIs(t, within(t, made), hal.ErrClosed)
			require.NoError(t, within(t, closed))
		})
	}
}

func within(t *testing.T, ch chan error) error {
	t.Helper()
	select {
	case err := <-ch:
		return err
	case <-time.After(10 * time.Second):
		require.FailNow(t, "stuck")
		return nil
	}
}
