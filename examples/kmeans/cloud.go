package main

// cloud returns n points around k places.
func cloud(n int) [][8]float32 {
	data := make([][8]float32, n)
	for i := range data {
		for d := range data[i] {
			data[i][d] = float32(i%k*(d+3)%37) + float32(uint32(i*len(data[i])+d)*2654435761>>16)/8192
		}
	}
	return data
}
