// Package conformance holds every engine of package comm to the rules of package internal/comm/driver.
//
// Each rank of a job runs the same [Check] on its engine ([Check.Run]). If all ranks can be in one process, a test takes a few lines:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{Ranks: 4, Job: func(fn func(e driver.Engine, lose func(rank int)) error) error { ... }})
//	}
//
// If each rank is a process of its own, each calls [Execute].
//
// No check sleeps, and none depends on how fast the engine is. To see that a request is not done too early, a check tests it many times before it
// lets the request complete. If a request is never done, the check fails when its context ends.
package conformance
