// Kmeans divides a million points of eight numbers into 32 clusters by Lloyd's method, and prints the device and the first cluster's centre.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/kmeans
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/kmeans/lloyd"
)

func main() {
	q := halyard.Open(context.Background())
	data := lloyd.Cloud(1_000_000)
	points, centres := halyard.From(q, data), halyard.From(q, data[:lloyd.K])
	sums := halyard.New[[lloyd.K][9]float32](q, 1024)
	for range 20 {
		sums.Fill([lloyd.K][9]float32{})
		lloyd.Add(q, points, centres, sums)
		lloyd.Move(q, sums, centres)
	}
	fmt.Println(q, centres.At(0))
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
