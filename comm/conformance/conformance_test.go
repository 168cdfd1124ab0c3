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

	"github.com/go-halyard/halyard/comm/commtest"
	"github.com/go-halyard/halyard/comm/conformance"
	"github.com/go-halyard/halyard/comm/driver"
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
	}, commtest.Broken(commtest.CancelsSends)) // which rank 0 finds: it leaves a send behind
	for rank, err := range errs {
		require.ErrorContains(t, err, "Messages/OnlyReceivesAreCancelled: rank 0: Cancel of a send: <nil>")
		require.Equal(t, len(conformance.Checks()), ran[rank])
		var e *conformance.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, err.Error(), e.Check.Rule)
	}
}

// killers is which check finds which bug of commtest.
var killers = map[commtest.Bug]string{
	commtest.Drops:                    "Messages/GoEverywhereAtOnce",
	commtest.DropsEmpty:               "Messages/ArriveComplete",
	commtest.Duplicates:               "Messages/AreReceivedOnce",
	commtest.Overtakes:                "Messages/KeepTheirOrder",
	commtest.Shortens:                 "Messages/ArriveComplete",
	commtest.LosesTail:                "Messages/ReachTheirSender",
	commtest.WritesBeyond:             "Messages/ArriveComplete",
	commtest.CompletesSendsEarly:      "Messages/SendIsDoneWhenRead",
	commtest.CompletesReceivesEarly:   "Messages/ReceiveIsDoneWhenWritten",
	commtest.WrongSource:              "Messages/ComeFromAnyRank",
	commtest.WrongTag:                 "Messages/ComeFromAnyRank",
	commtest.WrongLength:              "Messages/ComeFromAnyRank",
	commtest.IgnoresTags:              "Messages/AreMatchedByTag",
	commtest.TruncatesSilently:        "Messages/AreNotCutSilently",
	commtest.Overruns:                 "Messages/StayInTheirMemory",
	commtest.ForgetsCancel:            "Messages/CancelEndsAReceive",
	commtest.CancelsLate:              "Messages/CancelEndsAReceive",
	commtest.CancelsSends:             "Messages/OnlyReceivesAreCancelled",
	commtest.ClearsOthers:             "Messages/TestReportsWhatIsDone",
	commtest.MixesCommunicators:       "Communicators/DuplicateIsSeparate",
	commtest.IgnoresKeys:              "Communicators/SplitOrdersByKey",
	commtest.ColorsNobody:             "Communicators/SplitLeavesOut",
	commtest.HidesLostRanks:           "Failure/LostRankIsNamed",
	commtest.GivesUsedMemory:          "Memory/IsZeroAndAligned",
	commtest.GivesMemoryTwice:         "Memory/BlocksDoNotOverlap",
	commtest.BarrierLetsThrough:       "Collectives/BarrierWaits",
	commtest.CompletesReductionsEarly: "Collectives/ReductionWaits",
	commtest.IgnoresRoot:              "Collectives/Bcast",
	commtest.IgnoresOwnPart:           "Collectives/Gather",
	commtest.IgnoresOffsets:           "Collectives/GatherV",
	commtest.RefusesInPlace:           "Collectives/Reductions",
	commtest.ReducesPairs:             "Collectives/Scan",
	commtest.ReducesHalf:              "Collectives/ReduceScatter",
	commtest.ReducesUnsigned:          "Collectives/Reductions",
	commtest.Saturates:                "Collectives/IntegersWrapAround",
	commtest.ReducesAtRankZero:        "Collectives/SeveralAtOnce",
	commtest.ScansExclusively:         "Collectives/Scan",
	commtest.ScansInclusively:         "Collectives/Exscan",
	commtest.ProbesReceive:            "Messages/AreProbed",
}

// another is a second bug for checks that no other bug was made for.
var another = map[string]commtest.Bug{
	"Collectives/Alltoall":       commtest.IgnoresOwnPart,
	"Engine/RanksAreDistinct":    commtest.IgnoresOwnPart,
	"Messages/PromptsAreTheSame": commtest.WrongLength,
}

func TestEveryBugIsFound(t *testing.T) {
	finds := func(bug commtest.Bug, name string) {
		t.Run(bug.String(), func(t *testing.T) {
			all := conformance.Checks()
			i := slices.IndexFunc(all, func(c conformance.Check) bool { return c.Name == name })
			require.GreaterOrEqual(t, i, 0, "no check %q", name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			try := func(bug commtest.Bug) error {
				return job(4, func(e driver.Engine, lose func(rank int)) error { return all[i].Run(ctx, e, lose) },
					commtest.Broken(bug), commtest.Stuck(3000))
			}
			require.NoError(t, try(commtest.NoBug), "%s fails without the bug", name)
			err := try(bug)
			require.Error(t, err, "%s does not find it", name)
			require.NoError(t, ctx.Err(), "it was found by the clock alone")
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
	for _, bug := range commtest.Bugs() {
		finds(bug, killers[bug])
	}
	for name, bug := range another {
		finds(bug, name)
	}
}
