package hal_test

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
)

// The word "calls" in HALYARD_DEBUG has the calls of a device logged that is opened then, and no other word does.
func TestCallsAreLogged(t *testing.T) {
	for value, want := range map[string]string{"sites,calls": `(?m)^halyard: host:0: Alloc device 64 bytes: ok, `, "sites": `^$`} {
		t.Setenv("HALYARD_DEBUG", value)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		stop := hal.LogCallsTo(w)
		d, err := hal.OpenWith(t.Context(), host.New(host.Options{Name: "host"}), 0)
		require.NoError(t, err)
		m, err := d.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
		require.NoError(t, m.Close())
		require.NoError(t, d.Close())
		stop()
		require.NoError(t, w.Close())
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Regexp(t, want, string(text))
	}
}
