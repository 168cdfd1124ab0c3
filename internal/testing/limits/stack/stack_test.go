package stack

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-halyard/halyard"
	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

// Threads have the variables that Go says. Where the driver would end the process, blocks are smaller, or the launch is refused.
func TestVariables(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		c := q.Device().Info().Compute
		if c.Nesting > 0 {
			t.Skip("llvmpipe compiles these kernels for minutes")
		}
		const n = 3000
		x := halyard.New[int32](q, n)
		Large(q.Over(n), x)
		for i, got := range x.Values() {
			want := int32(0)
			for k := range int32(100) {
				want += ((k*7919 + int32(i)*31) & 4095) ^ int32(i)
			}
			if got != want {
				t.Fatalf("thread %d has %d, want %d", i, got, want)
			}
		}
		if err := q.Err(); err != nil {
			t.Fatal(err)
		}
		if c.BlockStack == 0 {
			return
		}
		limits := map[string]func(q *halyard.Queue){
			"the limit for this kernel is 256":                          func(q *halyard.Queue) { Large(q.Grid(hal.Blocks(1).Of(257)), x) },
			"kernel huge has variables of 8388608 bytes in each thread": func(q *halyard.Queue) { Huge(q.Over(n), x) },
		}
		for words, launch := range limits {
			own := halyard.On(t.Context(), q.Stream())
			launch(own)
			if err := own.Close(); err == nil || !strings.Contains(err.Error(), words) || !errors.Is(err, hal.ErrUnsupported) && !errors.Is(err, hal.ErrInvalidArgument) {
				t.Errorf("got %v, want %q", err, words)
			}
		}
	})
}
