// Package conformance holds every backend to the same rules: what package hal promises to programs,
// and what package buffer builds on it.
//
// A backend's own test runs the suite in a few lines:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Open: func(ctx context.Context) (*hal.Device, error) { return hal.Open(ctx, "cuda:0") },
//		})
//	}
//
// [Execute] runs the same checks without package testing.
//
// # Checks
//
// A [Check] has a name, the rule it enforces in one sentence, and the capabilities without which it has
// nothing to say. Each runs on a goroutine of its own, on devices that it opens and closes itself. A
// check that does not end in time fails with the stacks of its goroutines, and the suite goes on. A
// panic is a failure too.
//
// Asynchronous rules are checked with gates ([hal.Stream.Gate]): a stream is held shut, what must not
// have happened is looked for, and only then is the stream let go. No check sleeps, and none depends
// on how fast the device is.
//
// Random data and random actions come from one seed, which a failure prints; [Harness].Seed repeats them.
//
// # Outcomes
//
// A check that needs what the device or the harness does not have is skipped and says what. Hardware
// that is not there (an error of kind ErrUnavailable or ErrNotBuilt from the harness's functions) is a
// skip as well. Every other error is a failure.
//
// What a backend is known not to do is listed in [Harness].Exclusions, each with a reason: Unsupported
// checks are not run, an ExpectedFailure is run and must fail, so that the list shrinks when the
// bug is gone. An exclusion that names no check is an error.
package conformance
