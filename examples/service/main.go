// Service answers HTTP requests with the work of one device. Each request has its own queue, a [halyard.Queue.Fork]. So requests run at the same time,
// an error fails the request that it is of, and no other, and the work of a client that has gone ends with its context.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/service
//	curl --data-binary @numbers 'localhost:8080/smooth?rounds=100' >smoothed # 32-bit floats, little endian
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"log"
	"net/http"
	"strconv"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// smooth has each element become the mean of itself and its two neighbours.
//
//halyard:kernel
func smooth(t grid.Thread, in []float32, out grid.Out[float32]) {
	if i := t.Global(0); i < len(out) {
		out[i] = (in[max(i-1, 0)] + in[i] + in[min(i+1, len(in)-1)]) / 3
	}
}

const atOnce = 8     // requests that have memory on the device; the others wait
const most = 1 << 24 // bytes of a request

// service returns the handler of requests, which share the device of a queue.
func service(device *halyard.Queue) http.Handler {
	turns := make(chan struct{}, atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rounds, err := strconv.Atoi(r.FormValue("rounds"))
		data := make([]float32, max(0, min(r.ContentLength, most)/4))
		err = errors.Join(err, binary.Read(r.Body, binary.LittleEndian, data))
		if err != nil || len(data) == 0 || r.ContentLength != 4*int64(len(data)) {
			http.Error(w, "want ?rounds=N, and 32-bit floats of known length", http.StatusBadRequest)
			return
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-r.Context().Done():
			return
		}
		q := device.Fork(r.Context())
		x, y := halyard.From(q, data), halyard.New[float32](q, len(data))
		for n := 0; n < rounds && q.Err() == nil; n++ {
			Smooth(q, x, y)
			x, y = y, x
			if n%64 == 63 {
				q.Sync() // launches run ahead of the device
			}
		}
		data = x.Values()
		if err := q.Close(); errors.Is(err, context.Canceled) {
			return // the client has gone
		} else if err != nil {
			log.Print(err) // it has the path of this file, so it is not for clients
			http.Error(w, "the device failed", http.StatusInternalServerError)
			return
		}
		_ = binary.Write(w, binary.LittleEndian, data) // an error means that the client has gone
	})
}

// warm compiles the kernels, and launches each once.
func warm(ctx context.Context, device *halyard.Queue) error {
	q := device.Fork(ctx)
	q.Fail(kernels.Load(ctx, q.Device()))
	Smooth(q, halyard.New[float32](q, 1), halyard.New[float32](q, 1))
	return q.Close()
}

func main() {
	device := halyard.Open(context.Background())
	if err := warm(context.Background(), device); err != nil { // also that of Open; without these lines each request fails
		log.Fatal(err)
	}
	http.Handle("POST /smooth", service(device))
	log.Print("serving on localhost:8080, with ", device)
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}
