// Kmeans divides a million points of eight numbers into 32 clusters by Lloyd's method, on the best device.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/kmeans
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// k is the number of clusters.
const k = 32

// add finds the centre that is nearest to each point, and adds the point to that centre's sum. Each thread has sums of its own, for a part of the
// points. The ninth number of a sum counts its points.
//
//halyard:kernel
func add(t grid.Thread, points, centres [][8]float32, sums [][k][9]float32) {
	if part := t.Global(0); part < len(sums) {
		for p := part; p < len(points); p += len(sums) {
			best, least := 0, float32(1e38)
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
				sums[part][best][d] += x
			}
			sums[part][best][8]++
		}
	}
}

// move moves the centres to the middle of their points, a thread for each number of a centre.
//
//halyard:kernel
func move(t grid.Thread, sums [][k][9]float32, centres [][8]float32) {
	if c, d := t.Global(1), t.Global(0); c < len(centres) && d < 8 {
		var sum, points float32
		for part := range sums {
			sum += sums[part][c][d]
			points += sums[part][c][8]
		}
		centres[c][d] = sum / max(points, 1)
	}
}

// cluster returns the centres after some steps, which begin with the first points as centres.
func cluster(q *halyard.Queue, data [][8]float32, steps int) [][8]float32 {
	points, centres, sums := halyard.From(q, data), halyard.From(q, data[:k]), halyard.New[[k][9]float32](q, 1024)
	for range steps {
		sums.Fill([k][9]float32{})
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
