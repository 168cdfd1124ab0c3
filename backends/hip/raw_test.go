//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// raw returns the runtime's calls, made through package dl.
func raw(t testing.TB, libraries ...string) cudahiptest.Raw {
	t.Helper()
	return cudahiptest.Loaded(t, symbols, bind, func(proc func(cudahip.Call) dl.Proc) func() {
		setDevice := proc(cudahip.CallMakeCurrent)
		return func() { setDevice.Call1(0) }
	}, libraries...)
}
