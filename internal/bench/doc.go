// Package bench measures two ways of doing the same thing beside each other, on a machine that has other things to do.
//
// Both ways run in turns, batch by batch, so that both meet the same weather. Each pair of neighbouring batches
// gives one ratio, and the median of those is the result: what slows the machine down for a while slows both halves of
// a pair, and what hits one half is an outlier, which a median does not see. Who goes first changes from pair to pair. A
// batch is so long that reading the clock does not matter.
//
// What other measuring programs need is here as well: lines through points, and parts of documents that are written anew.
//
// The package knows nothing of devices; package peer beside it has the raw calls.
package bench
