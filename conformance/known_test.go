package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
)

// runBut runs the suite on a device that brings known bugs of buffers to light: checks that fail, and checks
// that never come back, which get little time. Those that pass all the same fail the test.
func runBut(t *testing.T, h conformance.Harness, failing, hanging map[string]string) {
	t.Helper()
	for check, why := range failing {
		h.Exclusions = append(h.Exclusions, conformance.Exclusion{Check: check, Kind: conformance.ExpectedFailure, Reason: why})
	}
	rest, names := h, []string{}
	rest.Exclusions = slices.Clone(h.Exclusions)
	for check, why := range hanging {
		h.Exclusions = append(h.Exclusions, conformance.Exclusion{Check: check, Kind: conformance.Unsupported, Reason: why})
		rest.Exclusions = append(rest.Exclusions, conformance.Exclusion{Check: check, Kind: conformance.ExpectedFailure, Reason: why})
		names = append(names, check)
	}
	t.Run("Suite", func(t *testing.T) { conformance.Run(t, h) })
	if len(hanging) == 0 {
		return
	}
	rest.Match = fmt.Sprintf("^(%s)$", strings.Join(names, "|"))
	rest.Timeout = time.Second
	t.Run("Hanging", func(t *testing.T) {
		_, err := conformance.Execute(t.Context(), rest, func(r conformance.Result) {
			require.Equal(t, conformance.ExpectedFailure, r.Outcome, "%s: %s", r.Check.Name, r.Reason)
		})
		require.NoError(t, err)
	})
}
