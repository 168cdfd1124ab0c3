// Package lloyd divides points of eight numbers into clusters by Lloyd's method. In each step a program sets the sums to 0, adds the points up, and moves the centres.
package lloyd

import "github.com/go-halyard/halyard/kernel/grid"

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// K is the number of clusters.
const K = 32

// add finds the centre that is nearest to each point, and adds the point to that centre's sum. Each thread has sums of its own, for a part of the
// points: 1024 threads are enough. The ninth number of a sum counts its points.
//
//halyard:kernel
func add(t grid.Thread, points, centres [][8]float32, sums [][K][9]float32) {
	if part := t.Global(0); part < len(sums) {
		for p := part; p < len(points); p += len(sums) {
			best, least := 0, float32(1e38)
			for c := range K {
				away := float32(0)
				for d, x := range points[p] {
					away += float32((x - centres[c][d]) * (x - centres[c][d]))
				}
				if away < least {
					best, least = c, away
				}
			}
			for d, x := range points[p] {
				sums[part][best][d] += x
			}
			sums[part][best][8]++
		}
	}
}

// move moves the centres to the middle of their points, a thread for each number of a centre.
//
//halyard:kernel
func move(t grid.Thread, sums [][K][9]float32, centres [][8]float32) {
	if c, d := t.Global(1), t.Global(0); c < len(centres) && d < 8 {
		var sum, points float32
		for part := range sums {
			sum, points = sum+sums[part][c][d], points+sums[part][c][8]
		}
		centres[c][d] = sum / max(points, 1)
	}
}
