package pool_test

import (
	"errors"
	"strings"
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

// What is no log is an error, and what is one can be replayed or not, but never crashes.
func FuzzReadLog(f *testing.F) {
	f.Add("")
	f.Add("Time,Action,Pointer,Kind,Size,Stream\n2026-01-02T03:04:05.000006Z,allocate,0x10,device,64,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := pool.ReadLog(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, hal.ErrInvalidArgument) || lines != nil {
				t.Fatalf("%d lines, %v", len(lines), err)
			}
			return
		}
		_, _ = pool.NewReplay(lines)
	})
}
