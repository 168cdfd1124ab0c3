// Package conformance holds every engine of package comm to the rules of package comm/driver.
//
// Each rank of a job runs the same [Check] on its engine ([Check.Run]). An engine whose jobs can be made within one process is tested in a few lines:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{Ranks: 4, Job: func(fn func(e driver.Engine, lose func(rank int)) error) error { ... }})
//	}
//
// One whose ranks are processes calls [Execute] in each of them.
//
// No check sleeps, and none depends on how fast the engine is: what must not happen early is asked for often, and then let happen. A check whose
// engine never comes to an end fails when its context ends.
package conformance
