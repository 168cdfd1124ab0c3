package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
	comm "github.com/go-halyard/halyard/internal/comm/driver"
)

func newComm() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "comm",
		Short: "Show the libraries that processes communicate through",
		Long: `Load the MPI library that a program would find here, start it, and show what it is and
what it can do. Without a launcher this is a job of one process; under mpiexec rank 0 prints.
Then show the NCCL and the RCCL that package comm/nccl would load for the GPUs.

A library that is missing or cannot start is shown with every name that was tried, and is
not an error. Under a launcher it is one: the exit status is 1.`,
		Example: `  halyard comm
  mpiexec -n 4 halyard comm
  mpiexec -n 4 halyard comm check
  HALYARD_MPI_LIBRARY=/opt/mpich/lib/libmpi.so.12 halyard comm`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l commListing
			e, err := startTried(cmd)
			switch {
			case err == nil:
				l = commListingOf(e)
				if err := e.Close(); err != nil {
					return err
				}
				if e.World().Rank() != 0 {
					return nil
				}
			case mpi.Launcher() != "" || !errors.Is(err, hal.ErrUnavailable):
				return err
			default:
				l.Error = &errorEntry{Kind: hal.ErrUnavailable.Error(), Message: err.Error()}
			}
			for _, backend := range []string{"cuda", "hip"} {
				if os.Getenv(trial) != "" {
					break // it is to find out about MPI alone
				}
				if i, err := nccl.Describe(backend); err == nil {
					l.Collectives = append(l.Collectives, collectives{i.Name, i.Version, i.Library, i.Path})
				}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), l)
			}
			l.print(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything that is known, as JSON")
	cmd.AddCommand(newCommCheck())
	return cmd
}

// trial is set in the child process of startTried.
const trial = "HALYARD_COMM_TRIAL"

// startTried starts MPI. Without a launcher it does so in a child process first, because some libraries end the process if they lack their runtime.
func startTried(cmd *cobra.Command) (comm.Engine, error) {
	if self, err := os.Executable(); err == nil && mpi.Launcher() == "" && os.Getenv(trial) == "" {
		child := exec.CommandContext(cmd.Context(), self, "comm")
		child.Env = append(os.Environ(), trial+"=1", "HALYARD_DEBUG=comm") // it names the library first
		if said, err := child.CombinedOutput(); err != nil {
			return nil, comm.Errorf("Start", hal.ErrUnavailable, "a process that started the library ended with %v: %s", err, strings.TrimSpace(string(said)))
		}
	}
	return mpi.Start()
}

// commListing is the output of comm --json.
type commListing struct {
	Engine          string      `json:"engine,omitempty"`
	Library         string      `json:"library,omitempty"`
	Path            string      `json:"path,omitempty"`
	ABI             string      `json:"abi,omitempty"`
	Version         string      `json:"version,omitempty"`
	Threads         string      `json:"threads,omitempty"`
	Launcher        string      `json:"launcher,omitempty"`
	Ranks           int         `json:"ranks,omitempty"`
	MaxTag          int         `json:"maxTag,omitempty"`
	Revokes         bool        `json:"revokes"`
	SignalsRestored int         `json:"signalsRestored"`
	Error           *errorEntry `json:"error,omitempty"`

	Collectives []collectives `json:"collectives,omitempty"` // NCCL and RCCL, as far as they are there
}

// collectives is a library that moves data between GPUs.
type collectives struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Library string `json:"library"`
	Path    string `json:"path,omitempty"`
}

func commListingOf(e comm.Engine) commListing {
	i := e.Info()
	return commListing{Engine: i.Name, Library: i.Library, Path: i.Path, ABI: i.ABI, Version: i.Version, Threads: i.Thread.String(), Launcher: i.Launcher,
		Ranks: e.World().Size(), MaxTag: i.MaxTag, Revokes: i.Revokes, SignalsRestored: i.SignalsRestored}
}

func (l *commListing) print(out io.Writer) {
	defer func() {
		for _, c := range l.Collectives {
			fmt.Fprintf(out, "between GPUs: %s %s, %s (%s)\n", c.Name, c.Version, c.Library, c.Path)
		}
		if len(l.Collectives) == 0 {
			fmt.Fprintf(out, "between GPUs: neither NCCL nor RCCL was found; %s names a library\n", nccl.EnvLibrary)
		}
	}()
	if l.Error != nil {
		fmt.Fprintf(out, "no MPI library: %s\n", oneLine(errors.New(l.Error.Message)))
		return
	}
	t := newTable(out, 0, 84)
	yes := map[bool]string{true: "yes", false: "no"}
	orNone := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	t.AppendRows([]table.Row{
		{"engine", l.Engine}, {"library", l.Library}, {"found at", l.Path}, {"ABI", l.ABI}, {"MPI version", l.Version}, {"threads", l.Threads},
		{"launcher", orNone(l.Launcher)}, {"ranks", l.Ranks},
		{"largest tag", l.MaxTag}, {"can revoke", yes[l.Revokes]}, {"signal handlers put back", l.SignalsRestored},
	})
	t.Render()
}
