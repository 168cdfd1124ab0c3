package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/conformance"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// job runs fn on the ranks of a job that can lose some.
func job(n int, fn func(e driver.Engine, lose func(rank int)) error, opts ...commtest.Option) error {
	j := commtest.New(n, opts...)
	defer j.Close()
	return j.Run(func(e driver.Engine) error { return fn(e, j.Lose) })
}

func TestCommtest(t *testing.T) {
	for name, opts := range map[string][]commtest.Option{
		"default":                   nil,
		"rendezvous":                {commtest.EagerLimit(0)},
		"eager":                     {commtest.EagerLimit(1 << 62)},
		"adversary":                 {commtest.Adversary(1)},
		"adversary with rendezvous": {commtest.Adversary(2), commtest.EagerLimit(0)},
	} {
		t.Run(name, func(t *testing.T) {
			sizes := []int{4}
			if name == "default" {
				sizes = []int{1, 2, 4, 5}
			}
			for _, n := range sizes {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					conformance.Run(t, conformance.Harness{Ranks: n, Job: func(fn func(e driver.Engine, lose func(rank int)) error) error {
						return job(n, fn, opts...)
					}})
				})
			}
		})
	}
}

func TestExecuteRunsEveryCheckInOneJob(t *testing.T) {
	ran := map[string]string{}
	commtest.Run(t, 4, func(e driver.Engine) error {
		return conformance.Execute(t.Context(), e, conformance.Checks(), time.Minute, func(c conformance.Check, skipped string, failed *conformance.Error) {
			if failed != nil {
				t.Error(failed)
			}
			if e.World().Rank() == 0 {
				ran[c.Name] = skipped
			}
		})
	})
	require.Len(t, ran, len(conformance.Checks()))
	for name, skipped := range ran {
		require.Equal(t, name == "Failure/LostRankIsNamed", skipped != "", name)
	}
}

// Every rank learns which rank found what, and the checks after that one are run.
func TestExecuteTellsAllRanksAndGoesOn(t *testing.T) {
	errs, ran := make([]error, 3), make([]int, 3)
	_ = commtest.Execute(3, func(e driver.Engine) error {
		return conformance.Execute(t.Context(), e, conformance.Checks(), time.Minute, func(_ conformance.Check, _ string, failed *conformance.Error) {
			ran[e.World().Rank()]++
			if failed != nil {
				errs[e.World().Rank()] = errors.Join(errs[e.World().Rank()], failed)
			}
		})
	}, bugs.Broken(bugs.CancelsSends).(commtest.Option)) // which rank 0 finds: it leaves a send behind
	for rank, err := range errs {
		require.ErrorContains(t, err, "Messages/OnlyReceivesAreCancelled: rank 0: Cancel of a send: <nil>")
		require.Equal(t, len(conformance.Checks()), ran[rank])
		var e *conformance.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, err.Error(), e.Check.Rule)
	}
}

// killers is which check finds which bug of commtest.
var killers = map[bugs.Bug]string{
	bugs.Drops:                    "Messages/GoEverywhereAtOnce",
	bugs.DropsEmpty:               "Messages/ArriveComplete",
	bugs.Duplicates:               "Messages/AreReceivedOnce",
	bugs.Overtakes:                "Messages/KeepTheirOrder",
	bugs.Shortens:                 "Messages/ArriveComplete",
	bugs.LosesTail:                "Messages/ReachTheirSender",
	bugs.WritesBeyond:             "Messages/ArriveComplete",
	bugs.CompletesSendsEarly:      "Messages/SendIsDoneWhenRead",
	bugs.CompletesReceivesEarly:   "Messages/ReceiveIsDoneWhenWritten",
	bugs.WrongSource:              "Messages/ComeFromAnyRank",
	bugs.WrongTag:                 "Messages/ComeFromAnyRank",
	bugs.WrongLength:              "Messages/ComeFromAnyRank",
	bugs.IgnoresTags:              "Messages/AreMatchedByTag",
	bugs.TruncatesSilently:        "Messages/AreNotCutSilently",
	bugs.Overruns:                 "Messages/StayInTheirMemory",
	bugs.ForgetsCancel:            "Messages/CancelEndsAReceive",
	bugs.CancelsLate:              "Messages/CancelEndsAReceive",
	bugs.CancelsSends:             "Messages/OnlyReceivesAreCancelled",
	bugs.ProbesTake:               "Messages/ProbesLeaveThem",
	bugs.ClearsOthers:             "Messages/TestReportsWhatIsDone",
	bugs.MixesCommunicators:       "Communicators/DuplicateIsSeparate",
	bugs.IgnoresKeys:              "Communicators/SplitOrdersByKey",
	bugs.ColorsNobody:             "Communicators/SplitLeavesOut",
	bugs.HidesLostRanks:           "Failure/LostRankIsNamed",
	bugs.GivesUsedMemory:          "Memory/IsZeroAndAligned",
	bugs.GivesMemoryTwice:         "Memory/BlocksDoNotOverlap",
	bugs.BarrierLetsThrough:       "Collectives/BarrierWaits",
	bugs.CompletesReductionsEarly: "Collectives/ReductionWaits",
	bugs.IgnoresRoot:              "Collectives/Bcast",
	bugs.IgnoresOwnPart:           "Collectives/Gather",
	bugs.RefusesInPlace:           "Collectives/Reductions",
	bugs.ReducesPairs:             "Collectives/Reductions",
	bugs.ReducesHalf:              "Collectives/Reductions",
	bugs.ReducesUnsigned:          "Collectives/Reductions",
	bugs.Saturates:                "Collectives/IntegersWrapAround",
	bugs.ReducesAtRankZero:        "Collectives/SeveralAtOnce",
}

// another is a second bug for checks that no other bug was made for.
var another = map[string]bugs.Bug{
	"Collectives/Alltoall":       bugs.IgnoresOwnPart,
	"Collectives/UnequalParts":   bugs.IgnoresOwnPart,
	"Engine/RanksAreDistinct":    bugs.IgnoresOwnPart,
	"Messages/PromptsAreTheSame": bugs.WrongLength,
}

func TestEveryBugIsFound(t *testing.T) {
	finds := func(bug bugs.Bug, name string) {
		t.Run(bug.String(), func(t *testing.T) {
			all := conformance.Checks()
			i := slices.IndexFunc(all, func(c conformance.Check) bool { return c.Name == name })
			require.GreaterOrEqual(t, i, 0, "no check %q", name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			try := func(bug bugs.Bug) error {
				return job(4, func(e driver.Engine, lose func(rank int)) error { return all[i].Run(ctx, e, lose) },
					bugs.Broken(bug).(commtest.Option), commtest.Stuck(3000))
			}
			require.NoError(t, try(bugs.None), "%s fails without the bug", name)
			err := try(bug)
			require.Error(t, err, "%s does not find it", name)
			require.NoError(t, ctx.Err(), "it was found by the clock alone")
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
	for _, bug := range bugs.All() {
		finds(bug, killers[bug])
	}
	for name, bug := range another {
		finds(bug, name)
	}
}
