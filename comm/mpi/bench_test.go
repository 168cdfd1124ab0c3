//go:build linux

package mpi

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// BenchmarkOneCopy is a message of 1 MiB there and back on Open MPI, which is copied once. Beside it are the time of the same messages if they are
// copied twice, in jobs that take turns with the first ones, and of messages of 8 bytes.
func BenchmarkOneCopy(b *testing.B) {
	for _, in := range installed(b) {
		if in.abi != abiOpenMPI {
			continue
		}
		b.Run(in.name, func(b *testing.B) {
			var long, short [2]float64
			for i := range long {
				long[i], short[i] = math.Inf(1), math.Inf(1)
			}
			for range max(b.N, 3) {
				for i, env := range [][]string{nil, {"OMPI_MCA_smsc=^cma", "OMPI_MCA_btl_vader_single_copy_mechanism=none"}} {
					o := in.job(b, 2, "there-and-back", env...)
					m := measured.FindStringSubmatch(o.output)
					if o.status != 0 || m == nil {
						b.Fatalf("status %d\n%s", o.status, o.output)
					}
					for k, best := range []*float64{&short[i], &long[i]} {
						v, _ := strconv.ParseFloat(m[1+k], 64)
						*best = min(*best, v)
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(long[0]/1e3, "µs/once")
			b.ReportMetric(long[1]/1e3, "µs/twice")
			b.ReportMetric(long[1]/long[0], "twice/once")
			b.ReportMetric(short[0], "ns/8-bytes")
		})
	}
}

var measured = regexp.MustCompile(`there and back: (\d+) ns, (\d+) ns`)

func init() {
	endings["there-and-back"] = func(r *rank) error {
		var best [2]time.Duration
		p := r.alloc(1 << 20)
		for k, n := range []uint64{8, 1 << 20} {
			best[k] = time.Hour
			for range 20 {
				if err := r.barrier(); err != nil {
					return err
				}
				begin := time.Now()
				const times = 50
				for range times {
					if err := r.thereAndBack(n, p); err != nil {
						return err
					}
				}
				best[k] = min(best[k], time.Since(begin)/times)
			}
		}
		if r.w.Rank() == 0 {
			fmt.Printf("there and back: %d ns, %d ns\n", best[0], best[1])
		}
		return nil
	}
}

func (r *rank) thereAndBack(n uint64, p unsafe.Pointer) error {
	w, other := r.w.(driver.Prompter), 1-r.w.Rank()
	for turn := range 2 {
		var id driver.Request
		var st driver.Status
		var err error
		if turn == r.w.Rank() {
			id, st, err = w.PromptSend(p, n, other, 0)
		} else {
			id, st, err = w.PromptRecv(p, n, other, 0)
		}
		if err != nil {
			return err
		}
		if st = r.answer(id, st); st.Err != nil {
			return st.Err
		}
	}
	return nil
}
