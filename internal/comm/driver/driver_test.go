package driver_test

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

func TestEveryConstantHasItsName(t *testing.T) {
	seen := map[string]bool{}
	name := func(s string) {
		require.NotEmpty(t, s)
		require.NotContains(t, s, "(")
		require.False(t, seen[strings.ToLower(s)], s)
		seen[strings.ToLower(s)] = true
	}
	for _, c := range driver.Calls() {
		name(c.String())
	}
	for _, o := range driver.Ops() {
		name(o.String())
	}
	for _, ty := range driver.Types() {
		name(ty.String())
		require.NotZero(t, ty.Size())
	}
	require.Equal(t, "Call(200)", driver.Call(200).String())
}

func TestEveryErrorMatchesItsKindAlone(t *testing.T) {
	for _, k := range driver.Kinds() {
		n := 0
		for _, other := range driver.Kinds() {
			if errors.Is(driver.Errorf("op", k, "detail"), other) {
				n++
			}
		}
		require.Equal(t, 1, n, k)
	}
	require.Equal(t, "op: the ranks do not agree: 3 and 4", driver.Errorf("op", driver.ErrMismatch, "%d and %d", 3, 4).Error())
}

func TestInPlaceComparesTheRanksOwnPart(t *testing.T) {
	mem := make([]byte, 64)
	at := func(i int) unsafe.Pointer { return unsafe.Pointer(&mem[i]) }
	for _, row := range []struct {
		c    driver.Collective
		rank int
		want bool
	}{
		{driver.Collective{Call: driver.Allreduce, Send: at(0), Recv: at(0), Count: 1}, 1, true},
		{driver.Collective{Call: driver.Allreduce, Send: at(0), Recv: at(8), Count: 1}, 1, false},
		{driver.Collective{Call: driver.Reduce, Send: at(0), Recv: at(0), Count: 1, Root: 1}, 0, false},
		{driver.Collective{Call: driver.Allgather, Send: at(8), Recv: at(0), Count: 8}, 1, true},
		{driver.Collective{Call: driver.Allgather, Send: at(8), Recv: at(0), Count: 8}, 0, false},
		{driver.Collective{Call: driver.Scatter, Send: at(0), Recv: at(0), Count: 8}, 0, true},
		{driver.Collective{Call: driver.Bcast, Recv: at(0), Count: 1}, 0, false},
	} {
		require.Equal(t, row.want, row.c.InPlace(row.rank), "%v at rank %d", row.c.Call, row.rank)
	}
}
