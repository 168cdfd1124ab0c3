// Kmeans divides a million points of eight numbers into 32 clusters by Lloyd's method, on the best device.
//
//	go run -tags "cuda opencl hip" ./examples/kmeans
package main

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// Each thread of add adds up one part of the points.
const k, parts = 32, 1024

type point [8]float32
type sum [9]float32 // of points; the last is their number

// add finds the centre that is nearest to each point of a part, and adds the point to that centre's sum of the part.
//
//halyard:kernel
func add(t grid.Thread, points, centres []point, sums []sum) {
	if part := t.Global(0); part < parts {
		for p := part; p < len(points); p += parts {
			best, least := 0, float32(math.MaxFloat32)
			for c := range k {
				away := float32(0)
				for d, x := range points[p] {
					away += float32((x - centres[c][d]) * (x - centres[c][d]))
				}
				if away < least {
					best, least = c, away
				}
			}
			for d, x := range points[p] {
				sums[part*k+best][d] += x
			}
			sums[part*k+best][8]++
		}
	}
}

// move moves the centres to the middle of their points.
//
//halyard:kernel
func move(t grid.Thread, sums []sum, centres []point) {
	if c := t.Global(0); c < len(centres) {
		var all sum
		for i := c; i < len(sums); i += k {
			for d, x := range sums[i] {
				all[d] += x
			}
		}
		for d := range centres[c] {
			centres[c][d] = all[d] / max(all[8], 1)
		}
	}
}

// cluster returns the centres after some steps, which begin with the first points as centres.
func cluster(q *halyard.Queue, data []point, steps int) []point {
	points, centres, sums := halyard.From(q, data), halyard.From(q, data[:k]), halyard.New[sum](q, parts*k)
	for range steps {
		sums.Fill(sum{})
		Add(q, points, centres, sums)
		Move(q, sums, centres)
	}
	return centres.Values()
}

func main() {
	q := halyard.Open(context.Background())
	fmt.Println(q, cluster(q, cloud(1_000_000), 20)[0])
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
