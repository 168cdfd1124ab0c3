// Package timing compares the speed of two ways of doing the same thing, on a machine that also does other work.
//
// The two ways run in turn, batch by batch, so that both run under the same conditions. Each pair of neighbouring batches
// gives one ratio, and the median of the ratios is the result: a disturbance that lasts slows both halves of
// a pair, and one that hits only one half makes an outlier, which does not change the median. The way that runs first
// changes from pair to pair. A batch is so long that the time for reading the clock does not matter.
//
// The package also has functions that other measuring programs need: lines through points, replacing parts of documents, and what
// machine and version were measured.
//
// It knows nothing of devices; package peer below it has the raw calls.
package timing
