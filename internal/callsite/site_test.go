package callsite

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:noinline
func inner(s *Site) { Here(s) }

func inlined(s *Site) { inner(s) }

func line() int {
	_, _, l, _ := runtime.Caller(1)
	return l
}

func TestOutsideSkipsThePackage(t *testing.T) {
	var s Site
	require.Equal(t, "", (&Site{}).Outside("x"))
	// Everything below sync.Once is in this package.
	new(sync.Once).Do(func() { inlined(&s) })
	require.Regexp(t, `once\.go:\d+$`, s.Outside("github.com/go-halyard/halyard/internal/callsite"))
}

func TestInnermostCallerIsNamed(t *testing.T) {
	var s Site
	inner(&s)
	want := line() - 1
	require.Regexp(t, `site_test\.go:`+strconv.Itoa(want)+`$`, s.Outside("no such package"))
}

func TestHereWhileStacksMove(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				deep(100)
			}
		}()
	}
	wg.Wait()
}

//go:noinline
func deep(n int) (sum uintptr) {
	var pad [64]uintptr
	if n == 0 {
		return 0
	}
	var s Site
	inner(&s)
	pad[n%64] = s[0]
	return deep(n-1) + pad[0]
}

func BenchmarkHere(b *testing.B) {
	var s Site
	for b.Loop() {
		Here(&s)
	}
}

func BenchmarkRuntimeCallers(b *testing.B) {
	var s Site
	for b.Loop() {
		runtime.Callers(1, s[:1])
	}
}
