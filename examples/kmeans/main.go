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

// A point is dims numbers of a slice. Each thread of add adds up one part of the points.
const k, dims, parts = 32, 8, 1024

// add finds the centre that is nearest to each point of a part. For each centre it adds up the points, and behind them counts them.
//
//halyard:kernel
func add(t grid.Thread, points, centres, sums []float32) {
	if part := t.Global(0); part < parts {
		for p := part * dims; p < len(points); p += parts * dims {
			best, least := 0, float32(math.MaxFloat32)
			for c := 0; c < k; c++ {
				away := float32(0)
				for d := 0; d < dims; d++ {
					x := points[p+d] - centres[c*dims+d]
					away += float32(x * x)
				}
				if away < least {
					best, least = c, away
				}
			}
			row := (part*k + best) * (dims + 1)
			for d := 0; d < dims; d++ {
				sums[row+d] += points[p+d]
			}
			sums[row+dims]++
		}
	}
}

// move moves the centres to the middle of their points.
//
//halyard:kernel
func move(t grid.Thread, sums, centres []float32) {
	if i := t.Global(0); i < len(centres) {
		sum, count := float32(0), float32(0)
		for row := i / dims * (dims + 1); row < len(sums); row += k * (dims + 1) {
			sum, count = sum+sums[row+i%dims], count+sums[row+dims]
		}
		if count > 0 {
			centres[i] = sum / count
		}
	}
}

// cluster returns the centres after some steps, which begin with the first points as centres.
func cluster(q *halyard.Queue, data []float32, steps int) []float32 {
	points, centres := halyard.From(q, data), halyard.From(q, data[:k*dims])
	sums := halyard.New[float32](q, parts*k*(dims+1))
	for range steps {
		sums.Fill(0)
		Add(q, points, centres, sums)
		Move(q, sums, centres)
	}
	return centres.Values()
}

func main() {
	q := halyard.Open(context.Background())
	fmt.Println(q, cluster(q, cloud(1_000_000), 20)[:dims])
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
