// Knn answers HTTP requests for the vectors of an .npy file, of shape (vectors, dimensions), that are nearest to a query. The vectors are on
// the device once, for all requests; each request has its own queue, a [halyard.Queue.Fork].
//
//	go run -tags "cuda opencl hip vulkan" ./examples/knn vectors.npy
//	curl --data-binary @query 'localhost:8080/nearest?k=5' # 32-bit floats, little endian; the indexes come as JSON, the nearest first
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// measure makes near[i] the square of the distance between column i and the query, times -1: the nearest vector has the largest number.
//
//halyard:kernel
func measure(t grid.Thread, columns grid.Matrix[float32], query []float32, near grid.Out[float32]) {
	if i := t.Global(0); i < len(near) {
		sum := float32(0)
		for d, x := range query {
			away := columns.At(d, i) - x
			sum -= float32(away * away)
		}
		near[i] = sum
	}
}

// service returns the handler of requests. The array has a vector in each column, so that neighbouring threads read neighbouring elements.
func service(device *halyard.Queue, columns *array.Array[float32]) http.Handler {
	dims, n := columns.Shape()[0], columns.Shape()[1]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, err := strconv.Atoi(r.FormValue("k"))
		query := make([]float32, dims)
		if err != nil || k < 0 || k > n || binary.Read(r.Body, binary.LittleEndian, query) != nil {
			http.Error(w, "want ?k=N, at most the number of vectors, and a 32-bit float for each dimension", http.StatusBadRequest)
			return
		}
		q := device.Fork(r.Context())
		near, top, indexes := halyard.New[float32](q, n), halyard.New[float32](q, k), halyard.New[int64](q, k)
		Measure(q, kernel.InRows(columns, n), halyard.From(q, query), near)
		algo.TopK(q, near, top, indexes)
		found := indexes.Values()
		if err := q.Close(); errors.Is(err, context.Canceled) {
			return // the client has gone
		} else if err != nil {
			log.Print(err) // it has the path of this file, so it is not for clients
			http.Error(w, "the device failed", http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(found) // an error means that the client has gone
	})
}

// load reads a file, and turns its rows into columns.
func load(ctx context.Context, name string) (*array.Array[float32], error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := array.ReadNPY[float32](f)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if len(rows.Shape()) != 2 {
		return nil, fmt.Errorf("%s has shape %v; want vectors and their dimensions", name, rows.Shape())
	}
	turned, err := rows.Transpose()
	if err != nil {
		return nil, err
	}
	return turned.Pack(ctx)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: knn FILE.npy")
	}
	ctx := context.Background()
	columns, err := load(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	device := halyard.Open(ctx)
	log.Print("serving on localhost:8080, with ", device)
	log.Fatal(http.ListenAndServe("localhost:8080", service(device, columns)))
}
