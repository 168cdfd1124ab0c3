//go:build cuda && hip && linux

package nccl_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
)

// The test binary starts itself: with this variable, "rank size id backend", it is one rank of a job.
const envRank = "HALYARD_TEST_NCCL_RANK"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(envRank)); len(words) == 4 {
		if err := process(words); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("agreed")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is one rank, in a process of its own.
func process(words []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	i, _ := strconv.Atoi(words[0])
	n, _ := strconv.Atoi(words[1])
	s := simulation{backend: words[3], library: os.Getenv(nccl.EnvLibrary)}
	var id nccl.ID
	if _, err := hex.Decode(id[:], []byte(words[2])); err != nil {
		return err
	}
	return s.rank(ctx, 0, func(dev *hal.Device) (*nccl.Comm, error) { return nccl.Join(ctx, id, i, n, dev) },
		func(ctx context.Context, r *rank) error {
			if words[1] == "3" && i == 1 { // it dies in the middle of the job
				if err := errors.Join(everything(ctx, r), r.c.Sync(ctx, r.stream)); err != nil {
					return err
				}
				fmt.Println("agreed")
				os.Exit(0)
			}
			if err := everything(ctx, r); err != nil {
				return err
			}
			if words[1] != "3" {
				return nil
			}
			err := everything(ctx, r)
			if err == nil || !strings.Contains(err.Error(), "a rank was lost") {
				return fmt.Errorf("without a rank the job ends with: %v", err)
			}
			return nil
		}, func() {})
}

// Processes that have one id make a job. In the job of three, one process ends early, and the others say so.
func TestJobsOfProcesses(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		for _, n := range []int{2, 3, 4} {
			dev, err := hal.Open(t.Context(), s.backend+":0")
			require.NoError(t, err)
			id, err := nccl.NewID(dev)
			require.NoError(t, errors.Join(err, dev.Close()))
			require.NoError(t, ranks(n, func(i int) error {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %x %s", envRank, i, n, id, s.backend))
				out, err := cmd.CombinedOutput()
				if err != nil || !bytes.HasSuffix(out, []byte("agreed\n")) {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}), n)
		}
	})
}
