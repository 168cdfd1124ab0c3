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
// A [Check] has a name, the rule it enforces in one sentence, and the capabilities that it needs.
// Each check runs on a goroutine of its own, on devices that it opens and closes itself. A
// check that does not end in time fails with the stacks of its goroutines, and the suite goes on. After
// three of them it leaves out the rest. A panic is a failure too.
//
// Asynchronous rules are checked with gates ([hal.Stream.Gate]): a gate holds a stream, the check
// makes sure that nothing has happened too early, and only then opens the gate. No check sleeps, and
// none depends on how fast the device is.
//
// One check opens memory of another process: it starts the program once more, with the arguments that lead to the
// suite, and the suite there lends memory instead of running checks. In a test binary these arguments select the test
// that calls Run.
//
// Random data and random actions come from one seed, which a failure prints. Set [Harness].Seed to it to repeat the run.
//
// # Outcomes
//
// If the device or the harness lacks something that a check needs, the check is skipped and says what
// is missing. It is also skipped if one of the harness's functions returns an error of kind ErrUnavailable or
// ErrNotBuilt, because then hardware is missing. Every other error is a failure.
//
// Known gaps of a backend are listed in [Harness].Exclusions, each with a reason: Unsupported
// checks are not run; an ExpectedFailure is run and must fail, so that it has to be removed when the
// bug is fixed. An exclusion that matches no check is an error.
package conformance
