package mpi

import (
	"os"
	"strconv"
	"strings"
)

// maker is the project that made a library or a launcher. It decides whether the two work together.
type maker int

const (
	makerUnknown maker = iota
	makerOpenMPI
	makerMPICH
	makerIntel
)

func makerOf(text string) maker {
	switch {
	case strings.Contains(text, "Open MPI"):
		return makerOpenMPI
	case strings.Contains(text, "Intel"):
		return makerIntel
	case strings.Contains(text, "MPICH"), strings.Contains(text, "MVAPICH"):
		return makerMPICH
	}
	return makerUnknown
}

// launcher is what started this process as a part of a job.
type launcher struct {
	name  string // "" if there is none
	size  int    // of the job, 0 if it is not known
	maker maker
	prrte bool // the launcher of Open MPI 5, under which Open MPI 4 finds no other ranks
}

// Launcher names what has started this process as a rank of a job, as far as its environment says: "mpiexec of Open MPI". It is "" if
// nothing has.
func Launcher() string { return detectLauncher().name }

// detectLauncher reads the environment variables in which launchers describe the job to its processes.
func detectLauncher() launcher {
	size := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name))
		return max(n, 0)
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if os.Getenv(name) != "" {
				return true
			}
		}
		return false
	}
	switch {
	case has("OMPI_COMM_WORLD_SIZE"):
		return launcher{"mpiexec of Open MPI", size("OMPI_COMM_WORLD_SIZE"), makerOpenMPI, has("PRTE_LAUNCHED")}
	case has("PALS_RANKID"):
		return launcher{name: "PALS of Cray", size: size("PMI_SIZE")}
	case has("FLUX_TASK_RANK"): // Flux also sets the variables of PMI
		return launcher{name: "flux run", size: size("FLUX_JOB_SIZE")}
	case has("PMI_SIZE") && has("MPI_LOCALNRANKS"): // asked before Slurm, whose variables are also set in a shell of salloc
		return launcher{name: hydra, size: size("PMI_SIZE"), maker: makerMPICH}
	case has("SLURM_STEP_NUM_TASKS") && has("SLURM_PROCID"):
		return launcher{name: "srun of Slurm", size: size("SLURM_STEP_NUM_TASKS")}
	case has("PMI_SIZE") && has("PMI_FD", "PMI_PORT"):
		return launcher{name: hydra, size: size("PMI_SIZE"), maker: makerMPICH}
	}
	return launcher{}
}

const hydra = "mpiexec of MPICH or Intel MPI (Hydra)"

// fits reports whether the launcher can start processes that use a library with that text of its version. If the maker of either is
// unknown, fits reports true.
func (l launcher) fits(text string) bool {
	m := makerOf(text)
	if l.prrte && strings.Contains(text, "Open MPI v4") {
		return false
	}
	return l.maker == makerUnknown || m == makerUnknown || (l.maker == makerOpenMPI) == (m == makerOpenMPI)
}
