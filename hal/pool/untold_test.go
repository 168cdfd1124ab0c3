package pool_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A driver may report that work failed only once. What a pool asks a stream does not take the error away from the program.
func TestPoolLeavesTheStreamsErrorToTheProgram(t *testing.T) {
	broken := &driver.Error{Op: "work", Device: -1, Kind: driver.ErrDriver, Detail: "as planned"}
	for name, ask := range map[string]func(t *testing.T, p *pool.Pool, s *hal.Stream, hb *hooked.Backend){
		"another stream joins": func(t *testing.T, p *pool.Pool, s *hal.Stream, _ *hooked.Backend) {
			other := newStream(t, s.Device())
			free(t, alloc(t, p, other, 4*kib), other)
		},
		"no event can be recorded": func(t *testing.T, p *pool.Pool, s *hal.Stream, hb *hooked.Backend) {
			hb.Record = func(*hooked.Stream, *hooked.Event) error { return broken }
			defer func() { hb.Record = nil }()
			require.ErrorIs(t, p.ForgetStream(s), hal.ErrDriver)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failed atomic.Bool
			hb := &hooked.Backend{Backend: host.New(host.Options{Discrete: 1})}
			hb.Query = func(s *hooked.Stream) (bool, error) {
				if failed.CompareAndSwap(true, false) {
					return true, broken
				}
				return s.Stream.Query()
			}
			d := fixture.Device(t, hb, 1)
			p := newPool(t, d)
			s := newStream(t, d)
			free(t, alloc(t, p, s, 4*kib), s)
			failed.Store(true)
			ask(t, p, s, hb)
			_, err := s.Done()
			require.ErrorIs(t, err, hal.ErrDriver)
		})
	}
}
