package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
)

// file writes vectors of random numbers, and returns them.
func file(t testing.TB, n, dims int) (name string, vectors [][]float32) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	all := make([]float32, n*dims)
	for i := range all {
		all[i] = float32(r.IntN(16)) // so that some distances are equal
	}
	a, err := array.From(all, n, dims)
	require.NoError(t, err)
	name = filepath.Join(t.TempDir(), "vectors.npy")
	f, err := os.Create(name)
	require.NoError(t, err)
	_, err = a.WriteNPY(t.Context(), f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, a.Close())
	return name, slices.Collect(slices.Chunk(all, dims))
}

// nearest is what the service answers, in plain Go.
func nearest(vectors [][]float32, query []float32, k int) []int64 {
	away, indexes := make([]float32, len(vectors)), make([]int64, len(vectors))
	for i, v := range vectors {
		indexes[i] = int64(i)
		for d, x := range query {
			away[i] += float32((v[d] - x) * (v[d] - x))
		}
	}
	slices.SortStableFunc(indexes, func(a, b int64) int { return cmp.Compare(away[a], away[b]) })
	return indexes[:k]
}

func ask(ctx context.Context, url string, query []float32, k int) (found []int64, status int, err error) {
	var body bytes.Buffer
	if err := binary.Write(&body, binary.LittleEndian, query); err != nil {
		return nil, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s?k=%d", url, k), &body)
	if err != nil {
		return nil, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = json.NewDecoder(resp.Body).Decode(&found)
	}
	return found, resp.StatusCode, err
}

// On each device, many clients at once have what plain Go finds. Some go before they are answered, and some ask what is refused.
func TestClients(t *testing.T) {
	const n, dims, most = 2100, 20, 24
	name, vectors := file(t, n, dims)
	devices, err := hal.Devices(t.Context())
	require.NoError(t, err)
	for _, d := range devices {
		t.Run(d.Name(), func(t *testing.T) {
			device := halyard.Open(t.Context(), d.Name())
			columns, err := load(t.Context(), name)
			require.NoError(t, err)
			defer columns.Close()
			s := httptest.NewServer(service(device, columns))
			defer func() {
				s.Close()
				_ = device.Close()
			}()
			query := slices.Clone(vectors[7])
			switch _, status, err := ask(t.Context(), s.URL, query, 1); {
			case err == nil && status == http.StatusInternalServerError && d.Backend != "host":
				t.Skip("the device cannot run the kernels")
			default:
				require.NoError(t, err)
			}
			var clients sync.WaitGroup
			for c := range most {
				clients.Go(func() {
					query := slices.Clone(vectors[c])
					query[0]++
					switch c % 8 {
					case 3:
						ctx, cancel := context.WithCancel(t.Context())
						cancel()
						_, _, err := ask(ctx, s.URL, query, 1)
						assert.ErrorIs(t, err, context.Canceled)
					case 5:
						_, status, err := ask(t.Context(), s.URL, query[1:], 1)
						assert.NoError(t, err)
						assert.Equal(t, http.StatusBadRequest, status)
					default:
						got, _, err := ask(t.Context(), s.URL, query, c)
						assert.NoError(t, err)
						assert.Equal(t, append([]int64{}, nearest(vectors, query, c)...), got)
					}
				})
			}
			clients.Wait()
		})
	}
}

func TestFilesThatAreNoVectors(t *testing.T) {
	a, err := array.From([]float32{1, 2, 3}, 3)
	require.NoError(t, err)
	defer a.Close()
	name := filepath.Join(t.TempDir(), "line.npy")
	f, err := os.Create(name)
	require.NoError(t, err)
	_, err = a.WriteNPY(t.Context(), f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = load(t.Context(), name)
	require.ErrorContains(t, err, "has shape [3]; want vectors and their dimensions")
	_, err = load(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// BenchmarkRequests compares requests to the service with the same in plain Go, four at a time.
func BenchmarkRequests(b *testing.B) {
	const n, dims, k = 100_000, 64, 10
	name, vectors := file(b, n, dims)
	run := func(b *testing.B, handler http.Handler) {
		s := httptest.NewServer(handler)
		defer s.Close()
		b.SetParallelism(2)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, status, err := ask(b.Context(), s.URL, vectors[i%n], k); err != nil || status != http.StatusOK {
					b.Error(status, err)
				}
			}
		})
	}
	b.Run("plain", func(b *testing.B) {
		run(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := make([]float32, dims)
			_ = binary.Read(r.Body, binary.LittleEndian, query)
			_ = json.NewEncoder(w).Encode(nearest(vectors, query, k))
		}))
	})
	devices, err := hal.Devices(b.Context())
	require.NoError(b, err)
	for _, d := range devices {
		b.Run(d.Name(), func(b *testing.B) {
			device := halyard.Open(b.Context(), d.Name())
			defer device.Close()
			columns, err := load(b.Context(), name)
			require.NoError(b, err)
			defer columns.Close()
			run(b, service(device, columns))
		})
	}
}
