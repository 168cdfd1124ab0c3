package pool_test

import (
	"errors"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// What is no size is one of two kinds of error, and what FormatSize writes is read again as nearly the same.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"", "4096", "1.5GiB", " 200 MB ", "0.0001kB", "99999999999999999999", "1e9", "-3", "..", "7 xB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := pool.ParseSize(text)
		if err != nil {
			if !errors.Is(err, hal.ErrInvalidArgument) && !errors.Is(err, hal.ErrOutOfRange) || n != 0 {
				t.Fatalf("%q: %d, %v", text, n, err)
			}
			return
		}
		if n < 1<<63 {
			again, err := pool.ParseSize(pool.FormatSize(n))
			if err != nil || again > n+n/100+1 || again < n-n/100 {
				t.Fatalf("%q is %d, written %q, read again %d, %v", text, n, pool.FormatSize(n), again, err)
			}
		}
	})
}
