package pipeline_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func openHost(tb testing.TB, ordinal int) *hal.Device {
	tb.Helper()
	return fixture.Device(tb, host.New(host.Options{Discrete: 1}), ordinal)
}

func eachDevice(t *testing.T, test func(t *testing.T, d *hal.Device)) {
	t.Run("unified", func(t *testing.T) { test(t, openHost(t, 0)) })
	t.Run("discrete", func(t *testing.T) { test(t, openHost(t, 1)) })
}

// numbers is a source of 0, 1, 2 ... in chunks of changing lengths.
func numbers(total int) pipeline.Source[int32] {
	at, call := 0, 0
	return func(_ context.Context, fill []int32) (int, error) {
		call++
		n := len(fill)
		switch call % 4 {
		case 1:
			n = (n + 1) / 2
		case 2:
			return 0, nil
		}
		n = min(n, total-at)
		for i := range n {
			fill[i] = int32(at + i)
		}
		at += n
		if at == total {
			return n, io.EOF
		}
		return n, nil
	}
}

// duplicate is a process whose results are the chunk's elements.
func duplicate(w pipeline.Work) (int, error) {
	out, err := w.Results.Region().Sub(0, w.In.Region().Len)
	if err != nil {
		return 0, err
	}
	return w.N, w.Stream.Copy(out, w.In.Region())
}

// inOrder is a sink that wants 0, 1, 2 ...; seen counts them.
func inOrder(seen *int) pipeline.Sink[int32] {
	return func(_ context.Context, results []int32) error {
		for _, r := range results {
			if int(r) != *seen {
				return fmt.Errorf("result %d is %d", *seen, r)
			}
			*seen++
		}
		return nil
	}
}
