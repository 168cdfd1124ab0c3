// Micromag computes how the magnetisation of a thin layer moves: exchange, uniaxial anisotropy, applied and demagnetising fields, and the equation of
// Landau, Lifshitz and Gilbert with adaptive time steps. It solves the fourth standard problem of the muMAG group at NIST
// (https://www.ctcms.nist.gov/~rdm/std4/spec4.html): a film of permalloy, 500×125×3 nm, is in equilibrium (the s-state), and then a field reverses its
// magnetisation. The averages of the magnetisation are printed beside solutions that others have published.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/micromag
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/go-halyard/halyard"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// permalloy is the film of the problem, in cells×cells/4 cells.
func permalloy(cells int) *Magnet {
	return &Magnet{NX: cells, NY: cells / 4, Cell: [3]float64{500e-9 / float64(cells), 125e-9 / float64(cells/4), 3e-9},
		Ms: 8e5, A: 1.3e-11, Tolerance: 1e-5}
}

// relax brings the film to its s-state: with strong damping, and without a field, it comes to rest there.
func relax(q *halyard.Queue, g *Magnet) {
	g.Damping, g.MuH = 1, [3]float64{}
	g.Place(q, [3]float64{1, 0.1, 0})
	for last, now := 1.0, g.Energy(); q.Err() == nil && last-now > 1e-7*last; {
		g.Run(2e-10)
		last, now = now, g.Energy()
	}
	g.Damping = 0.02
}

// reversal is one of the two fields of the problem.
type reversal struct {
	muH       [3]float64        // in T
	published [10][2][3]float64 // averages after 0.1 ns, 0.2 ns and so on: of a solution on a fine mesh, and on a coarse one
	others    string            // what other programs have after 1 ns
}

// beyond returns how far an average after i+1 tenths of a nanosecond is outside of the range between the two published ones.
func (r *reversal) beyond(i int, average [3]float64) (far float64) {
	one, other := r.published[i][0], r.published[i][1]
	for c, a := range average {
		far = max(far, min(one[c], other[c])-a, a-max(one[c], other[c]))
	}
	return far
}

// The published solutions are those of G. Albuquerque, J. Miltat and A. Thiaville on the problem's web pages, on two meshes. The difference between the two
// shows how exact an average is. The averages of mumax3 are those that its own test expects, those of OOMMF are in the examples of fidimag.
var reversals = []reversal{
	{[3]float64{-24.6e-3, 4.3e-3, 0}, [10][2][3]float64{
		{{0.5274, 0.6620, -0.0825}, {0.5188, 0.6658, -0.0857}},
		{{-0.8003, -0.0121, -0.1524}, {-0.8210, -0.0784, -0.1525}},
		{{-0.7380, -0.0196, 0.0645}, {-0.7411, -0.0066, 0.0710}},
		{{-0.7862, 0.4084, -0.0252}, {-0.7615, 0.4112, -0.0290}},
		{{-0.9273, -0.1800, 0.0482}, {-0.9055, -0.2581, 0.0429}},
		{{-0.9186, 0.2693, -0.0670}, {-0.9034, 0.3528, -0.0666}},
		{{-0.9375, 0.2305, 0.0474}, {-0.9554, 0.1635, 0.0607}},
		{{-0.9620, -0.1617, -0.0038}, {-0.9614, -0.1537, -0.0239}},
		{{-0.9338, 0.3071, -0.0396}, {-0.9233, 0.3574, -0.0299}},
		{{-0.9812, 0.1579, 0.0383}, {-0.9863, 0.0960, 0.0462}},
	}, "mumax3 [-0.9846  0.1260  0.0433] on 128×32 cells, OOMMF [-0.9845  0.1274  0.0432] on 200×50"},
	{[3]float64{-35.5e-3, -6.3e-3, 0}, [10][2][3]float64{
		{{0.5629, -0.1771, 0.0366}, {0.5580, -0.1908, 0.0386}},
		{{-0.4765, 0.3228, 0.0007}, {-0.4765, 0.3389, -0.0054}},
		{{-0.2909, -0.2746, 0.0590}, {-0.2701, -0.2831, 0.0669}},
		{{-0.3588, -0.1536, 0.0472}, {-0.3955, -0.1726, 0.0463}},
		{{-0.7650, -0.0987, 0.0708}, {-0.8425, -0.0792, 0.0839}},
		{{-0.8428, 0.1515, -0.0109}, {-0.8627, 0.0819, -0.0421}},
		{{-0.8434, -0.3443, 0.0211}, {-0.8521, -0.4003, 0.0427}},
		{{-0.9639, 0.0240, -0.0435}, {-0.9549, 0.0283, -0.0700}},
		{{-0.9462, -0.1096, 0.0292}, {-0.9552, -0.0649, 0.0503}},
		{{-0.9710, -0.0859, 0.0019}, {-0.9652, -0.1163, -0.0084}},
	}, "mumax3 [-0.9692 -0.1204 -0.0053] on 128×32 cells"},
}

func main() {
	cells := flag.Int("cells", 128, "cells along the film, and four times those across it")
	tenths := flag.Int("tenths", 10, "tenths of a nanosecond, 10 at most")
	flag.Parse()
	if *cells < 4 {
		log.Fatal("-cells must be at least 4")
	}
	q := halyard.Open(context.Background())
	g, begin := permalloy(*cells), time.Now()
	relax(q, g)
	made, tried := g.Steps()
	fmt.Printf("%v: %d×%d cells\ns-state      %7.4f   after %d of %d steps, %.1f s; mumax3 [ 0.9670  0.1253  0.0000] on 128×32 cells\n",
		q, g.NX, g.NY, g.Average(), made, tried, time.Since(begin).Seconds())
	start := halyard.New[float32](q, g.m.Len())
	start.CopyFrom(g.m)
	for _, r := range reversals {
		fmt.Printf("\nmu0 H = %.1f mT\n    ns   average of m                published: fine mesh, coarse mesh\n",
			[3]float64{r.muH[0] * 1e3, r.muH[1] * 1e3, r.muH[2] * 1e3})
		g.m.CopyFrom(start)
		g.MuH, begin = r.muH, time.Now()
		beyond := 0.0
		for i := range min(*tenths, len(r.published)) {
			g.Run(1e-10)
			m, published := g.Average(), r.published[i]
			fmt.Printf("   %.1f   %7.4f   %7.4f %7.4f\n", float64(i+1)/10, m, published[0], published[1])
			beyond = max(beyond, r.beyond(i, m))
		}
		last, lastTried := made, tried
		made, tried = g.Steps()
		fmt.Printf("at most %.4f outside of the range between the two; %d of %d steps, %.1f s; after 1 ns others have\n%s\n",
			beyond, made-last, tried-lastTried, time.Since(begin).Seconds(), r.others)
	}
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
