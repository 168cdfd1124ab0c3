package timing

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The shortest batch is a thousand steps of the clock: with coarse steps a few measurements would take minutes.
func TestClockGoesInSmallSteps(t *testing.T) {
	now := clock()
	require.GreaterOrEqual(t, now(), time.Duration(0))
	step := Tick(now)
	require.Positive(t, step)
	require.Less(t, step, 100*time.Microsecond)
}

// The clock counts seconds as package time does, whose steps are of up to 16 ms.
func TestClockCountsSeconds(t *testing.T) {
	const coarse = 20 * time.Millisecond
	now := clock()
	outer, from := time.Now(), now()
	inner := time.Now()
	for now()-from < 5*coarse {
		runtime.Gosched()
	}
	least := time.Since(inner)
	took := now() - from
	most := time.Since(outer)
	require.Greater(t, took, least-coarse)
	require.Less(t, took, most+coarse)
}
