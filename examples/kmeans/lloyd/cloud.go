package lloyd

// Cloud returns n points around K places.
func Cloud(n int) [][8]float32 {
	data := make([][8]float32, n)
	for i := range data {
		for d := range data[i] {
			data[i][d] = float32(i%K*(d+3)%37) + float32(uint32(i*len(data[i])+d)*2654435761>>16)/8192
		}
	}
	return data
}
