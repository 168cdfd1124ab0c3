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
	fmt.Println(q, lloyd.Cluster(q, lloyd.Cloud(1_000_000), 20)[0])
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
