package part

// StaleError lets tests look at the ranges of an error.
type StaleError = staleError

// Stretches returns how many neighbours a rank of a layout has, how many stretches of consecutive elements it keeps, and how many stretches and ranks it looks
// at to find those.
func Stretches(l Layout, h Halo, rank, ranks int) (neighbours, kept, seen int, err error) {
	g, err := l.on("Stretches", ranks)
	if err != nil {
		return 0, 0, 0, err
	}
	count := func(run) { seen++ }
	h.runs(g, rank, count)
	for _, peer := range g.readers(rank, &h) {
		seen++
		g.walk(peer, rank, &h, count)
	}
	p := g.divide(rank, &h)
	p.serve(&h)
	kept = len(p.own) + len(p.ghosts)
	for _, l := range p.links {
		if l.peer != rank {
			neighbours++
		}
		kept += len(l.out.wire) + len(l.in.wire)
	}
	return neighbours, kept, seen, nil
}
