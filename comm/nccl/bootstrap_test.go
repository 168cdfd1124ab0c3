package nccl

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm"
)

// address is one where nobody listens.
func address(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// exchanged is what the ranks of a job get, of which failed, by rank, cannot take part.
func exchanged(ctx context.Context, addr string, ranks, sizes []int, failed map[int]error) (ids []ID, errs []error) {
	ids, errs = make([]ID, len(ranks)), make([]error, len(ranks))
	var wg sync.WaitGroup
	for i := range ranks {
		wg.Go(func() { ids[i], errs[i] = exchange(ctx, addr, ranks[i], sizes[i], ID{1, 2, 3}, failed[ranks[i]]) })
	}
	wg.Wait()
	return ids, errs
}

func TestExchange(t *testing.T) {
	addr := address(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := ID{1, 2, 3}
	ids, errs := exchanged(ctx, addr, []int{3, 1, 0, 2}, []int{4, 4, 4, 4}, nil)
	for i := range ids {
		require.NoError(t, errs[i])
		require.Equal(t, want, ids[i])
	}
	ids, errs = exchanged(ctx, "nowhere:1", []int{0}, []int{1}, nil) // alone it needs no address
	require.NoError(t, errs[0])
	require.Equal(t, want, ids[0])
}

func TestExchangeFailsAtAllRanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cause := errors.New("no library here")
	for bad := range 3 {
		_, errs := exchanged(ctx, address(t), []int{0, 1, 2}, []int{3, 3, 3}, map[int]error{bad: cause})
		for r, err := range errs {
			if r == bad {
				require.Equal(t, cause, err)
				continue
			}
			require.ErrorIs(t, err, comm.ErrUnavailable)
			require.ErrorContains(t, err, cause.Error())
		}
	}
}

func TestExchangeComparesRanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, row := range [][2][]int{
		{{0, 1}, {3, 4}},       // another number of ranks
		{{0, 5}, {3, 6}},       // and a rank that there is not
		{{0, 1, 1}, {3, 3, 3}}, // one rank twice
	} {
		_, errs := exchanged(ctx, address(t), row[0], row[1], nil)
		require.ErrorIs(t, errs[0], comm.ErrMismatch)
		for _, err := range errs[1:] {
			require.ErrorIs(t, err, comm.ErrUnavailable)
			require.ErrorContains(t, err, "rank 0 says")
		}
	}
}

func TestExchangeHasADeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, errs := exchanged(ctx, address(t), []int{0}, []int{3}, nil)
	require.ErrorIs(t, errs[0], comm.ErrTimeout)
	require.ErrorIs(t, errs[0], context.DeadlineExceeded)
	require.ErrorContains(t, errs[0], "[1 2]")
	_, errs = exchanged(ctx, address(t), []int{1}, []int{3}, nil)
	require.ErrorIs(t, errs[0], comm.ErrTimeout)
}

// Somebody else who connects to rank 0 is sent away, and something else that listens is not taken for rank 0.
func TestExchangeWithStrangers(t *testing.T) {
	addr := address(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	var id ID
	var err error
	wg.Go(func() { id, err = exchange(ctx, addr, 0, 2, ID{9}, nil) })
	var conn net.Conn
	for conn == nil && ctx.Err() == nil {
		conn, _ = net.Dial("tcp", addr)
	}
	_, werr := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, werr)
	_, rerr := conn.Read(make([]byte, 1))
	require.Error(t, rerr)
	other, oerr := exchange(ctx, addr, 1, 2, ID{}, nil)
	wg.Wait()
	require.NoError(t, err)
	require.NoError(t, oerr)
	require.Equal(t, id, other)

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err == nil {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_, _ = c.Read(make([]byte, 64))
			c.Close()
		}
	}()
	_, err = exchange(ctx, ln.Addr().String(), 1, 2, ID{}, nil)
	require.ErrorIs(t, err, comm.ErrRankLost)
	require.ErrorContains(t, err, "another protocol")

	_, err = exchange(ctx, ln.Addr().String(), 0, 2, ID{}, nil) // somebody has the address
	require.ErrorIs(t, err, comm.ErrEngine)
}

func TestVersions(t *testing.T) {
	for v, want := range map[int]string{2708: "2.7.8", 20903: "2.9.3", 21400: "2.14.0", 23203: "2.32.3"} {
		require.Equal(t, want, versionText(v))
	}
}
