// Package exclusions knows which conformance checks some vendors' drivers cannot pass, and why.
//
// The list is about the drivers: a check that fails because of this module is not excluded
// but repaired. Each entry says for which devices it holds, and a run shows each one that
// applied, with its reason.
package exclusions
