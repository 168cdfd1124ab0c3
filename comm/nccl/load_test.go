//go:build cuda && hip && linux

package nccl_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

func TestDescribe(t *testing.T) {
	sims := simulate(t)
	for i, name := range []string{"NCCL", "RCCL"} {
		t.Setenv(nccl.EnvLibrary, sims[i].library)
		info, err := nccl.Describe(sims[i].backend)
		require.NoError(t, err)
		require.Equal(t, comm.Info{Name: name, Version: "2.27.7", Library: sims[i].library, Path: sims[i].library}, info)
	}
}

func TestLibrariesThatDoNotFitAreRefused(t *testing.T) {
	sims := simulate(t)
	old := simulate(t, "ncclCommInitRankScalable", "ncclCommInitRankConfig")
	lacking := simulate(t, "ncclCommAbort")
	for _, row := range []struct{ backend, library, version, want string }{
		{"cuda", sims[1].library, "", "it is RCCL"},
		{"hip", sims[0].library, "", "it is NCCL"},
		{"cuda", old[0].library, "", "cannot make communicators that do not block; 2.14.0 or later can"},
		{"cuda", lacking[0].library, "", "lacks ncclCommAbort"},
		{"cuda", sims[0].Library, "", "lacks ncclGetVersion"},
		{"cuda", "libhalyard-absent.so.1", "", "libhalyard-absent.so.1: "},
	} {
		t.Setenv(nccl.EnvLibrary, row.library)
		_, err := nccl.Describe(row.backend)
		require.ErrorIs(t, err, hal.ErrUnavailable)
		require.ErrorContains(t, err, row.want)
		require.ErrorContains(t, err, row.library)
		require.ErrorContains(t, err, nccl.EnvLibrary)
	}
	_, err := nccl.Describe("host")
	require.ErrorIs(t, err, hal.ErrUnsupported)
}

// Without the variable every usual name is tried, and named.
func TestEveryNameIsNamed(t *testing.T) {
	t.Setenv(nccl.EnvLibrary, "")
	for backend, names := range map[string][]string{"cuda": {"libnccl.so.2", "libnccl.so"}, "hip": {"librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so.1"}} {
		info, err := nccl.Describe(backend)
		if err == nil {
			t.Skip("there is one: ", info.Path)
		}
		require.ErrorIs(t, err, hal.ErrUnavailable)
		for _, name := range names {
			named := regexp.MustCompile(`[ (]` + regexp.QuoteMeta(name) + `: `) // and not the end of a longer one
			require.Len(t, named.FindAllString(err.Error(), -1), 1, "%s in %v", name, err)
		}
	}
}

// A library before 2.23 takes the id by value.
func TestIDByValue(t *testing.T) {
	for _, s := range simulate(t, "ncclCommInitRankScalable") {
		t.Run(s.backend, func(t *testing.T) {
			t.Setenv(nccl.EnvLibrary, s.library)
			require.NoError(t, s.job(t, 2, everything))
			s.kept(t)
		})
	}
}

func TestNewOnACommunicator(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		commtest.Run(t, 4, func(e driver.Engine) error {
			c := comm.New(e)
			return s.rank(ctx, c.Rank(), func(dev *hal.Device) (*nccl.Comm, error) { return nccl.New(ctx, c, dev) }, func(ctx context.Context, r *rank) error {
				if err := everything(ctx, r); err != nil {
					return err
				}
				return c.Barrier(ctx)
			}, func() {
				_ = c.Barrier(ctx)
				if c.Rank() == 0 {
					_ = s.reap()
				}
				_ = c.Barrier(ctx)
				_ = c.Close()
			})
		})
	})
}

// If one rank cannot take part, all learn it.
func TestNewFailsAtAllRanks(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		for bad := range 2 {
			commtest.Run(t, 2, func(e driver.Engine) error {
				c := comm.New(e)
				defer c.Close()
				dev, err := hal.Open(ctx, s.backend+":0")
				if err != nil {
					return err
				}
				defer dev.Close()
				if c.Rank() == bad {
					_, err = nccl.New(ctx, c, nil)
					require.ErrorIs(t, err, hal.ErrInvalidArgument)
				} else {
					_, err = nccl.New(ctx, c, dev)
					require.ErrorIs(t, err, hal.ErrUnavailable)
				}
				return nil
			})
		}
	})
}

func TestJoinChecksItsArguments(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		ctx := t.Context()
		dev, err := hal.Open(ctx, s.backend+":0")
		require.NoError(t, err)
		defer dev.Close()
		for _, row := range [][2]int{{-1, 2}, {2, 2}, {0, 0}, {0, 1 << 40}} {
			_, err := nccl.Join(ctx, nccl.ID{}, row[0], row[1], dev)
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
		}
		_, err = nccl.Join(ctx, nccl.ID{}, 0, 1, nil)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		_, err = nccl.Join(ctx, nccl.ID{}, 0, 1, dev) // not an id: the library says so
		var e *comm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{hal.ErrInvalidArgument, 4, "invalid argument"}, []any{e.Kind, e.Code, e.Text})
		require.Contains(t, e.Detail, "simulated")
		// Nobody else comes.
		id, err := nccl.NewID(dev)
		require.NoError(t, err)
		short, cancel := context.WithTimeout(ctx, during)
		defer cancel()
		_, err = nccl.Join(short, id, 0, 2, dev)
		require.ErrorIs(t, err, comm.ErrTimeout)
		_, err = nccl.Join(short, id, 0, 2, dev)
		require.ErrorIs(t, err, comm.ErrTimeout)
	})
}

// A device takes one rank, unless the library is told otherwise.
func TestTwoRanksOnOneDevice(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		two := func() error {
			dev, err := hal.Open(ctx, s.backend+":0")
			if err != nil {
				return err
			}
			defer dev.Close()
			id, err := nccl.NewID(dev)
			if err != nil {
				return err
			}
			return ranks(2, func(i int) error {
				c, err := nccl.Join(ctx, id, i, 2, dev)
				if err != nil {
					return err
				}
				return c.Close(ctx)
			})
		}
		err := two()
		require.ErrorIs(t, err, comm.ErrMismatch)
		require.ErrorContains(t, err, "Duplicate GPU")
		t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
		require.NoError(t, two())
	})
}
