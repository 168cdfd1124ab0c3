package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
)

func serve(t *testing.T, device *halyard.Queue) string {
	s := httptest.NewServer(service(device))
	t.Cleanup(func() {
		s.Close()
		_ = device.Close()
	})
	return s.URL
}

func post(ctx context.Context, url string, rounds int, data []float32) (status int, got []float32, text string, err error) {
	var body bytes.Buffer
	if err := binary.Write(&body, binary.LittleEndian, data); err != nil {
		return 0, nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/smooth?rounds=%d", url, rounds), &body)
	if err != nil {
		return 0, nil, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil, string(all), err
	}
	got = make([]float32, len(all)/4)
	_, err = binary.Decode(all, binary.LittleEndian, got)
	return resp.StatusCode, got, "", err
}

func smoothed(data []float32, rounds int) []float32 {
	for range rounds {
		next := make([]float32, len(data))
		for i := range next {
			next[i] = (data[max(i-1, 0)] + data[i] + data[min(i+1, len(data)-1)]) / 3
		}
		data = next
	}
	return data
}

// Many clients at once have the answers to their own requests. Some of them go before they are answered, and some ask what is refused.
func TestClients(t *testing.T) {
	url := serve(t, halyard.Open(context.Background()))
	var clients sync.WaitGroup
	for c := range 50 {
		clients.Go(func() {
			data := make([]float32, 100+c)
			for i := range data {
				data[i] = float32((i * 7919 * (c + 1)) % 1000)
			}
			for n := range 4 {
				switch {
				case c%10 == 3 && n == 1:
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					_, _, _, _ = post(ctx, url, 100_000_000, data)
					cancel()
				case c%10 == 5 && n == 2:
					status, _, _, err := post(t.Context(), url, 1, nil)
					assert.NoError(t, err)
					assert.Equal(t, http.StatusBadRequest, status)
				default:
					status, got, text, err := post(t.Context(), url, c, data)
					assert.NoError(t, err)
					assert.Equal(t, http.StatusOK, status, text)
					assert.Equal(t, smoothed(data, c), got)
				}
			}
		})
	}
	clients.Wait()
}

// The kernels are compiled before the first request. If the device cannot be opened, that says why.
func TestWarm(t *testing.T) {
	device := halyard.Open(context.Background())
	require.NoError(t, warm(t.Context(), device))
	require.NoError(t, device.Close())
	require.ErrorContains(t, warm(t.Context(), halyard.Open(context.Background(), "host:99")), "there is no device 99")
}

// If the device cannot be opened, each request fails with a text that has nothing of the server's.
func TestNoDevice(t *testing.T) {
	url := serve(t, halyard.Open(context.Background(), "host:99"))
	for range 2 {
		status, _, text, err := post(t.Context(), url, 1, []float32{1})
		require.NoError(t, err)
		assert.Equal(t, http.StatusInternalServerError, status)
		assert.Equal(t, "the device failed\n", text)
	}
}
