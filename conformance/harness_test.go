package conformance_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// required are the checks that every backend is held to; more may be added, none may go.
var required = map[string]string{
	"Enumeration": "ListSortedStable UnknownName NotBuiltNamesTheTag UnavailableSaysWhy OrdinalOutOfRange InfoComplete " +
		"FreeAtMostTotal FreeFollowsAllocations ReopenAfterClose TwoHandlesIndependent EnumerationCreatesNoContext",
	"Allocation": "Distinct SizeAtLeastRequested KindHonoured RandomAllocFree FreeOnOtherGoroutine HugeRejected " +
		"ContentsIsolated StatsMatch HandlesDiffer DefaultAlignment ExplicitPowerOfTwoAlignment BadAlignmentRejected OddOffsetsCopy ZeroSizeAllocation",
	"Copy": "HostToDevice DeviceToHost DeviceToDevice SizeAlignmentMatrix LengthsAroundPowersOfTwo FarOffsets PeerSeesLatest Large NeighboursUntouched NilSlice SelfSame " +
		"SelfOverlapForward SelfOverlapBackward SelfDisjoint Adjacent PeerDirect PeerStaged CrossBackend WrongDeviceRejected " +
		"BetweenKinds OffsetsBeyond32Bits LengthsBeyond32Bits SourceReusableAfterWrite ZeroLength ZeroLengthPastEndRejected ZeroLengthOnClosedRejected",
	"Fill": "Pattern1 Pattern2 Pattern4 Pattern8 OffsetLengthMatrix PatternNotDividingLengthRejected BadPatternWidthRejected " +
		"NeighboursUntouched",
	"Bounds":      "OffsetPastEnd LengthPastEnd Overflow SubViewBase NestedView ViewAfterParentFree FailedCallHasNoEffect",
	"StreamOrder": "FIFO FillCopyFillChain SyncDrains SyncHonoursContext QueryBusyThenIdle TwoStreamsIndependent NoImplicitDefaultStreamSync Burst EveryKindInOrder EveryWorkOnce LongQueueDoesNotWait StreamSyncCoversEarlierWorkOnly OneBlockedSyncBlocksNobodyElse",
	"Events": "WaitOrders WaitAloneIsRecorded IdleStreamsEventIsDone WaitCompletedSkips ReuseKeepsEarlierWaits FanOutFanIn MultiEventWait " +
		"ManyPendingWaits ManyPendingEvents CrossBackendWait ElapsedBetweenStreams ElapsedNonNegative ElapsedNeedsTiming ElapsedPendingNotReady",
	"Lifetime":     "CloseMemoryInFlight CloseBytesInFlight CloseStreamInFlight CloseEventPending CloseGivesContextsBack CancelledSyncLeavesUsable GoSliceMovesOrStays IdleStreamsTakeNoGoroutine ClosedObjectsAreForgotten ClosedMemoryLeavesTheProcess",
	"HostMemory":   "PinnedRoundTrip RewrittenByHost PinnedReadInOrder RegisterUnregisterRegister DoubleRegisterRejected SharedVisibleAfterSync KindQuery AsyncFromPinnedDoesNotBlock",
	"Errors":       "EveryVendorCodeMapped IsAndAs VendorCodePreserved EveryMethodTells FailureUnderWayIsTold ErrorsNotSticky DeviceLostIsSticky LostAtEveryCall DoubleCloseNil EveryMethodAfterClose ParentBusyNamesChildren BaselineMemoryRestored UnclosedReported",
	"Concurrency":  "MethodsParallel CloseRaces GoroutineMigration",
	"OutOfMemory":  "ExhaustMapsToOutOfMemory RecoverAfterOutOfMemory EveryNthCallFails",
	"Capabilities": "BitEqualsInterfaceEqualsBehaviour UnsupportedIsErrUnsupported",
	"Pools":        "ReusedOnTheStreamAtOnce ElsewhereAfterTheWork ShortageMakesStreamsWait RecordedUseIsKept LiveBlocksDoNotOverlap ContentsIsolated TrimGivesBack LimitHolds CloseWithLiveBlocks",
	"Coherence": "LegalTransitions IllegalRejectedUnchanged SeededModelAgainstBackend MinimalTransfers " +
		"FailedCopyLeavesDestinationInvalid OverwriteTransfersNothing ReadNeverWrittenIsZeros StaleMarkIsConflict " +
		"EvictionKeepsSoleCopy SliceAndParentAgree RangeWriteMovesOnlyTheRange LeaseExcludesWriter HostViewAfterDeviceWrite " +
		"DeviceReadAfterHostUpdate ThreePlacesAgree UnifiedPlaceCopiesNothing CrossStreamReadAfterWrite WriteAfterReadWaits " +
		"OversubscribedWorkingSetFinishes FailureUnderWayIsNoticed",
	"Kernels": "LoadsAndFindsByName UnknownKernelIsRefused BadImageIsRefused TruncatedImageIsRefused ParametersAreReported TooFewArgumentsAreRefused " +
		"TooManyArgumentsAreRefused WrongSizeIsRefused ScalarsOfEveryWidthArrive StructArrivesWithPadding ArgumentsAreCopiedAtLaunch EveryThreadRunsOnce " +
		"EmptyGridDoesNothing GridBeyondLimitIsRefused BlockBeyondKernelLimitIsRefused SharedMemoryIsThere SharedBeyondLimitIsRefused BarrierHolds ReadBeforeBarrierIsKept AtomicsCount " +
		"LaunchIsInStreamOrder LaunchDoesNotWait LaunchWaitsForEvents OneKernelFromManyGoroutines ModuleClosedUnderWorkFinishes ClosedModuleIsRefused " +
		"MemoryOfAnotherDeviceIsRefused ClosedMemoryIsRefused OffsetsArrive BuildErrorCarriesTheLog RefusedLaunchChangesNothing LaunchBringsWhatItReads " +
		"LaunchMakesOthersStale OutCopiesNothingIn SameBufferTwice LaunchReadsBesideTheHost OverlappingSlices RefusedLaunchKeepsContents FailedKernelLosesWhatItWrote OpposedLaunchesDoNotDeadlock",
}

func TestEveryRequiredCheckIsThere(t *testing.T) {
	have := map[string]conformance.Check{}
	for _, c := range conformance.Checks() {
		name := c.Name
		require.NotContains(t, have, name, "two checks of one name")
		have[name] = c
		assert.Regexp(t, `^[A-Z][A-Za-z]+/[A-Z][A-Za-z0-9]+$`, name)
		assert.Regexp(t, `^[A-Z0-9].{15,}\.$`, c.Rule, name)
		assert.NotContains(t, strings.TrimSuffix(c.Rule, "."), ". ", "%s has more than one sentence", name)
	}
	total := 0
	for group, names := range required {
		for _, name := range strings.Fields(names) {
			total++
			assert.Contains(t, have, group+"/"+name)
		}
	}
	require.GreaterOrEqual(t, len(have), 100)
	require.GreaterOrEqual(t, total, 90)
}

// tally is how many checks had each outcome.
type tally map[conformance.Outcome]int

// execute runs the checks that match on the unified host device, unless the harness opens another.
func execute(t *testing.T, h conformance.Harness) (map[string]conformance.Result, tally, error) {
	t.Helper()
	if h.Open == nil {
		h.Open = opener(host.New(host.Options{}), 0)
	}
	h.Short = true
	results := map[string]conformance.Result{}
	n := tally{}
	seed, err := conformance.Execute(t.Context(), h, func(r conformance.Result) {
		results[r.Check.Name] = r
		n[r.Outcome]++
	})
	if err == nil && (seed == 0 || h.Seed != 0 && seed != h.Seed) {
		t.Errorf("seed %d became %d", h.Seed, seed)
	}
	return results, n, err
}

func TestMatchSelects(t *testing.T) {
	results, s, err := execute(t, conformance.Harness{Match: "^Fill/Pattern[12]$"})
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.Equal(t, tally{conformance.Passed: 2}, s)
	_, _, err = execute(t, conformance.Harness{Match: "("})
	require.ErrorContains(t, err, "Match")
}

func TestHarnessWithoutOpenIsRefused(t *testing.T) {
	_, err := conformance.Execute(t.Context(), conformance.Harness{}, nil)
	require.ErrorContains(t, err, "Open")
	_, err = conformance.Execute(t.Context(), conformance.Harness{Open: opener(host.New(host.Options{}), 0), Timeout: -1}, nil)
	require.ErrorContains(t, err, "Timeout")
}

func TestExclusions(t *testing.T) {
	brokenFill := newShim(hooks{Fill: func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		return s.Stream.Fill(dst, driver.Pattern{Bits: p.Bits, Width: 1})
	}})
	h := brokenFill.harness()
	h.Match = "^Fill/Pattern"
	h.Exclusions = []conformance.Exclusion{
		{Check: "Fill/Pattern1", Kind: conformance.ExpectedFailure, Reason: "was broken once"},
		{Check: "Fill/Pattern2", Kind: conformance.ExpectedFailure, Reason: "known bug"},
		{Check: "Fill/Pattern[45]", Kind: conformance.Unsupported, Reason: "not in this world"},
		{Check: "Copy/Large", Kind: conformance.Unsupported, Reason: "not selected"},
	}
	results, s, err := execute(t, h)
	require.NoError(t, err)
	for name, want := range map[string]struct {
		outcome conformance.Outcome
		reason  string
	}{
		"Fill/Pattern1": {conformance.UnexpectedPass, "was broken once"},
		"Fill/Pattern2": {conformance.ExpectedFailure, "known bug"},
		"Fill/Pattern4": {conformance.Unsupported, "not in this world"},
		"Fill/Pattern8": {conformance.Failed, ""},
	} {
		r := results[name]
		assert.Equal(t, want.outcome, r.Outcome, name)
		if want.reason != "" {
			assert.Equal(t, want.reason, r.Reason, name)
		}
	}
	require.Contains(t, results["Fill/Pattern8"].Log[0], "4096 bytes differ")
	failed, skipped := 0, 0
	for _, r := range results {
		switch {
		case r.Outcome.Bad():
			failed++
		case r.Outcome == conformance.Skipped:
			skipped++
		}
	}
	require.Equal(t, failed, s[conformance.Failed]+s[conformance.UnexpectedPass])
	require.Equal(t, 1, s[conformance.Unsupported])
	require.Equal(t, 1, s[conformance.ExpectedFailure])
	require.Zero(t, skipped)

	for what, x := range map[string]conformance.Exclusion{
		"matches no check":  {Check: "Fill/Pattern3", Kind: conformance.Unsupported, Reason: "r"},
		"gives no reason":   {Check: "Fill/Pattern1", Kind: conformance.Unsupported},
		"has kind passed":   {Check: "Fill/Pattern1", Reason: "r"},
		"syntax error":      {Check: "Fill/[", Kind: conformance.Unsupported, Reason: "r"},
		"is excluded by":    {Check: "Fill/*", Kind: conformance.Unsupported, Reason: "r"},
		"exclusion of \"\"": {Kind: conformance.Unsupported, Reason: "r"},
	} {
		_, _, err := execute(t, conformance.Harness{Exclusions: []conformance.Exclusion{
			{Check: "Fill/Pattern2", Kind: conformance.Unsupported, Reason: "r"}, x,
		}})
		require.ErrorContains(t, err, what)
	}
}

func TestUnavailableHardwareIsASkip(t *testing.T) {
	for _, kind := range []error{hal.ErrUnavailable, hal.ErrNotBuilt} {
		results, s, err := execute(t, conformance.Harness{
			Match: "^Copy/HostToDevice$",
			Open: func(context.Context) (*hal.Device, error) {
				return nil, &hal.Error{Op: "open", Device: -1, Kind: kind, Detail: "no such library"}
			},
		})
		require.NoError(t, err)
		require.Equal(t, 1, s[conformance.Skipped])
		require.Contains(t, results["Copy/HostToDevice"].Reason, "no such library")
	}
	results, s, err := execute(t, conformance.Harness{
		Match: "^Copy/HostToDevice$",
		Open:  func(context.Context) (*hal.Device, error) { return nil, errors.New("anything else") },
	})
	require.NoError(t, err)
	require.Equal(t, 1, s[conformance.Failed])
	require.Contains(t, results["Copy/HostToDevice"].Reason, "anything else")
}

func TestMissingCapabilityIsASkipThatNamesIt(t *testing.T) {
	h := newShim(withInfo(func(_ *shim, i *driver.Info) { i.Caps &^= driver.CapGate })).harness()
	h.Match = "^StreamOrder/GateHoldsWork$"
	results, _, err := execute(t, h)
	require.NoError(t, err)
	r := results["StreamOrder/GateHoldsWork"]
	require.Equal(t, conformance.Skipped, r.Outcome)
	require.Equal(t, "the device lacks: gate", r.Reason)

	results, _, err = execute(t, conformance.Harness{Match: "^Copy/(PeerDirect|CrossBackend)$"})
	require.NoError(t, err)
	require.Equal(t, "no other device of the backend", results["Copy/PeerDirect"].Reason)
	require.Equal(t, "no device of another backend", results["Copy/CrossBackend"].Reason)
}

// hangs never comes back, whatever its context does.
func hangs(context.Context) (*hal.Device, error) { select {} }

func TestWatchdogGoesOn(t *testing.T) {
	var opened atomic.Int32
	b := host.New(host.Options{})
	results, s, err := execute(t, conformance.Harness{
		Match:   "^Fill/Pattern",
		Timeout: 3 * time.Second, // the checks that do not hang end within it on a busy machine
		Open: func(ctx context.Context) (*hal.Device, error) {
			if opened.Add(1) == 1 {
				return hangs(ctx)
			}
			return hal.OpenWith(ctx, b, 0)
		},
	})
	require.NoError(t, err)
	r := results["Fill/Pattern1"]
	require.Equal(t, conformance.Failed, r.Outcome)
	require.Contains(t, r.Reason, "not done after 3s")
	text := strings.Join(r.Log, "\n")
	before, _, found := strings.Cut(text, "conformance_test.hangs")
	require.True(t, found, "the stack of what hangs")
	require.Contains(t, before, r.Check.Rule, "the rule comes first")
	require.NotContains(t, text, "TestWatchdogGoesOn(", "stacks of others")
	require.Equal(t, 1, s[conformance.Failed])
	require.Equal(t, len(results)-1, s[conformance.Passed])
}

// After three checks that hang the suite gives up, and shows what it has found.
func TestGivesUpOnHanging(t *testing.T) {
	opened := 0
	b := host.New(host.Options{})
	results, s, err := execute(t, conformance.Harness{
		Match:   "^Fill/",
		Timeout: 50 * time.Millisecond,
		Open: func(ctx context.Context) (*hal.Device, error) {
			if opened++; opened == 1 {
				return nil, errors.New("a failure before the hanging")
			}
			if opened == 2 {
				return hal.OpenWith(ctx, b, 0)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	require.NoError(t, err)
	require.Contains(t, results["Fill/Pattern1"].Reason, "a failure before the hanging")
	require.Equal(t, 4, s[conformance.Failed])
	require.Equal(t, len(results)-5, s[conformance.Skipped])
	require.Contains(t, results["Fill/NeighboursUntouched"].Reason, "three checks have not come back: Fill/Pattern4, Fill/Pattern8, ")
}

func TestPanicIsAFailure(t *testing.T) {
	results, s, err := execute(t, conformance.Harness{
		Match: "^Fill/Pattern1$",
		Open:  func(context.Context) (*hal.Device, error) { panic("oh no") },
	})
	require.NoError(t, err)
	require.Equal(t, 1, s[conformance.Failed])
	require.Equal(t, "panic: oh no", results["Fill/Pattern1"].Reason)
}

func TestFailureTellsWhereAndHowToRepeatIt(t *testing.T) {
	run := func(seed uint64) conformance.Result {
		h := newShim(hooks{Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error { return s.Stream.Copy(at(dst, 0), src) }}).harness()
		h.Match, h.Seed = "^Allocation/OddOffsetsCopy$", seed
		results, _, err := execute(t, h)
		require.NoError(t, err)
		return results["Allocation/OddOffsetsCopy"]
	}
	first := run(7)
	require.Equal(t, conformance.Failed, first.Outcome)
	require.Equal(t, "seed 7", first.Log[len(first.Log)-1])
	require.Regexp(t, `^allocation\.go:\d+: round 0`, first.Log[0])
	require.Equal(t, first.Log[0], run(7).Log[0], "the same seed")
	require.NotEqual(t, first.Log[0], run(8).Log[0], "another seed")
	require.NotContains(t, first.Log[0], " < ", "helpers are left out")
	require.Contains(t, run(0).Log[len(first.Log)-1], "seed ")
}

func TestExecuteStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := conformance.Execute(ctx, conformance.Harness{Open: opener(host.New(host.Options{}), 0), Match: "^Fill/"}, func(conformance.Result) {
		if n++; n == 2 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, n)
}

func TestOutcomeText(t *testing.T) {
	for o := conformance.Passed; o <= conformance.UnexpectedPass; o++ {
		require.NotContains(t, o.String(), "outcome(")
		require.Equal(t, o == conformance.Failed || o == conformance.UnexpectedPass, o.Bad())
	}
	require.Regexp(t, regexp.MustCompile(`\d`), conformance.Outcome(99).String())
}

// A device that can do nothing but what every device can passes too, with skips that say why.
func TestBareDevice(t *testing.T) {
	h := newShim(withInfo(func(_ *shim, i *driver.Info) {
		i.Caps = 0
		i.Model = "simulated bare device"
	})).harness()
	h.Peer, h.Others, h.Faults, h.VendorCodes, h.Contexts = nil, nil, nil, nil, nil
	results, s, err := execute(t, h)
	require.NoError(t, err)
	for name, r := range results {
		if r.Outcome == conformance.Skipped {
			assert.NotEmpty(t, r.Reason, name)
		}
		assert.Falsef(t, r.Outcome.Bad(), "%s: %s", name, strings.Join(r.Log, "\n"))
	}
	require.Greater(t, s[conformance.Passed], 60)
	require.Greater(t, s[conformance.Skipped], 30)
}

func TestChecksAreACopy(t *testing.T) {
	all := conformance.Checks()
	name := all[0].Name
	all[0].Name = "Changed"
	require.Equal(t, name, conformance.Checks()[0].Name)
	require.True(t, slices.ContainsFunc(all, func(c conformance.Check) bool { return c.NeedsOther }))
}
