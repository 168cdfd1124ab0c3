package main

// cloud returns n points around k places.
func cloud(n int) []float32 {
	data := make([]float32, n*dims)
	for i := range data {
		data[i] = float32(i/dims%k*(i%dims+3)%37) + float32(uint32(i)*2654435761>>16)/8192
	}
	return data
}
