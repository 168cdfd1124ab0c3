//go:build cuda && hip && linux

package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// Ranks on hardware: two on one device if there is one alone, which NCCL allows with NCCL_MULTI_RANK_GPU_ENABLE=1, else one for each of up to four.
func TestOnHardware(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	skip := func(format string, args ...any) {
		if cudahiptest.Required("nccl-hardware") {
			t.Fatalf(format, args...)
		}
		t.Skipf(format, args...)
	}
	list, err := hal.Devices(ctx)
	if !errors.Is(err, hal.ErrUnavailable) { // which it is unless a test before this one has loaded the simulated driver
		require.NoError(t, err)
	}
	backend, found := "", 0
	for _, d := range list {
		if !d.Simulated && (d.Backend == "cuda" || d.Backend == "hip") && (backend == "" || backend == d.Backend) {
			backend = d.Backend
			found++
		}
	}
	if found == 0 {
		skip("there is no device of NVIDIA's or AMD's")
	}
	info, err := nccl.Describe(backend)
	if err != nil {
		skip("there is no library: %v", err)
	}
	t.Logf("%s %s, %s, %d devices", info.Name, info.Version, info.Path, found)
	n := min(found, 4)
	if n == 1 {
		n = 2
		t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	}
	first, err := hal.Open(ctx, backend+":0")
	require.NoError(t, err)
	defer first.Close()
	id, err := nccl.NewID(first)
	require.NoError(t, err)
	err = ranks(n, func(i int) (err error) {
		dev, err := hal.Open(ctx, fmt.Sprintf("%s:%d", backend, i%found))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, dev.Close()) }()
		stream, err := dev.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stream.Close()) }()
		c, err := nccl.Join(ctx, id, i, n, dev)
		if err != nil {
			return err
		}
		r := &rank{c: c, dev: dev, stream: stream}
		defer func() {
			if err != nil {
				c.Abort()
			}
			err = errors.Join(err, c.Close(ctx), stream.Sync(ctx))
			for _, b := range r.made {
				err = errors.Join(err, b.Close())
			}
		}()
		return everything(ctx, r)
	})
	if found == 1 && errors.Is(err, comm.ErrMismatch) && strings.Contains(err.Error(), "uplicate GPU") {
		skip("this version does not take two ranks on one device: %v", err)
	}
	require.NoError(t, err)
}
