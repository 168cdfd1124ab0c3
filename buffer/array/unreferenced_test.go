package array_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/unreferenced"
)

// A call keeps open what it is called on and what it is given, although the program has no other reference to it.
func TestCallsKeepTheirArrays(t *testing.T) {
	d, err := hal.OpenWith(ctx, unreferenced.Backend(host.New(host.Options{Name: "unreferenced", Discrete: 1})), 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	type (
		ints     = array.Array[int32]
		accessor = array.Accessor[int32]
	)
	whole := func() *ints { // with the newest elements on the device
		a, err := array.From([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
		require.NoError(t, err)
		b, err := a.Buffer()
		require.NoError(t, err)
		require.NoError(t, b.FillOn(ctx, s, 7))
		return a
	}
	columns := func() *ints {
		a, err := whole().Slice(array.All(), array.Between(0, 2))
		require.NoError(t, err)
		return a
	}
	encoded, err := whole().GobEncode()
	require.NoError(t, err)
	nothing := func(accessor) error { return nil }
	calls := map[string]func(*ints) error{
		"AcquireStrided": func(a *ints) error {
			l, err := a.AcquireStrided(ctx, s, coherence.Read)
			if err == nil {
				err = l.Release()
			}
			return err
		},
		"At":        func(a *ints) error { return second(a.At(ctx, 1, 1)) },
		"Bounds":    func(a *ints) error { _, _, err := a.Bounds(); return err },
		"Buffer":    func(a *ints) error { _, _ = a.Buffer(); return nil },
		"Close":     func(a *ints) error { _ = a.Close(); return nil },
		"CopyFrom":  func(a *ints) error { return a.CopyFrom(ctx, like(a, whole, columns)) },
		"Element":   func(a *ints) error { a.Element(); return nil },
		"GobDecode": func(*ints) error { return new(ints).GobDecode(encoded) },
		"GobEncode": func(a *ints) error { return second(a.GobEncode()) },
		"Len":       func(a *ints) error { a.Len(); return nil },
		"Offset":    func(a *ints) error { a.Offset(); return nil },
		"Order":     func(a *ints) error { a.Order(); return nil },
		"Overwrite": func(a *ints) error { return a.Overwrite(ctx, nothing) },
		"Pack":      func(a *ints) error { return second(a.Pack(ctx)) },
		"Reshape":   func(a *ints) error { _, _ = a.Reshape(-1); return nil },
		"Select":    func(a *ints) error { return second(a.Select(0, 1)) },
		"Set":       func(a *ints) error { return a.Set(ctx, 1, 1, 1) },
		"Shape":     func(a *ints) error { a.Shape(); return nil },
		"Slice":     func(a *ints) error { return second(a.Slice(array.All())) },
		"Strides":   func(a *ints) error { a.Strides(); return nil },
		"String":    func(a *ints) error { _ = a.String(); return nil },
		"Transpose": func(a *ints) error { return second(a.Transpose()) },
		"Update":    func(a *ints) error { return a.Update(ctx, nothing) },
		"Values":    func(a *ints) error { return second(a.Values(ctx)) },
		"View":      func(a *ints) error { return a.View(ctx, nothing) },
		"Want":      func(a *ints) error { a.Want(coherence.Read); return nil },
		"WriteNPY":  func(a *ints) error { return second(a.WriteNPY(ctx, io.Discard)) },
	}
	ofTests := []string{"Acquire", "IsContiguous", "Memory", "Pieces", "Runs", "State", "Stats", "TryAcquire"}
	unreferenced.Methods(t, whole, calls, ofTests...)
	unreferenced.Methods(t, columns, calls, ofTests...)
}

// like returns an array of the shape of a.
func like(a *array.Array[int32], whole, columns func() *array.Array[int32]) *array.Array[int32] {
	if a.Len() == 6 {
		return whole()
	}
	return columns()
}
