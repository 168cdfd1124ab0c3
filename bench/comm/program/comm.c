/* Measures messages between two ranks with the calls of MPI alone, and prints samples as bench/comm reads them: a name and nanoseconds, on one line each.
   The argument is how many milliseconds each case is repeated for. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EDGE = 8, LONG = 1 << 20, LEAST = 50 /* batches of a case, however long they take */ };

static int rank;
static double limit; /* seconds for each case */

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "comm.c: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One message to the other rank and one back. */
static void blocking(char *data, int n, int step)
{
	if (rank == 0) {
		memcpy(data, &step, sizeof step);
		MPI_Send(data, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(data, n, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(data, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(data, n, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
	}
}

static void until(MPI_Request r)
{
	for (int done = 0; !done;)
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
}

static void tested(char *data, int n, int step)
{
	MPI_Request r;
	if (rank == 0) {
		memcpy(data, &step, sizeof step);
		MPI_Isend(data, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r);
		until(r);
		MPI_Irecv(data, n, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &r);
		until(r);
	} else {
		MPI_Irecv(data, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r);
		until(r);
		MPI_Isend(data, n, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &r);
		until(r);
	}
}

/* The first and the last elements of an array go to the other rank's ghosts behind its other end. */
static void halos(char *data, int n, int step)
{
	double *u = (double *)data;
	int other = 1 - rank;
	MPI_Request r[4];
	u[EDGE] = u[n - EDGE - 1] = step;
	MPI_Irecv(u, EDGE, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(u + n - EDGE, EDGE, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(u + n - 2 * EDGE, EDGE, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Isend(u + EDGE, EDGE, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	check(u[EDGE - 1] == step && u[n - EDGE] == step, "a ghost is wrong");
}

/* Runs batches until the time is over. Rank 0 says whether there is another. */
static void repeat(const char *name, void (*once)(char *, int, int), char *data, int n, int batch, double divisor)
{
	double begin = MPI_Wtime();
	for (int more = 1, step = 0; more;) {
		MPI_Barrier(MPI_COMM_WORLD);
		double from = MPI_Wtime();
		for (int i = 0; i < batch; i++)
			once(data, n, ++step);
		double took = MPI_Wtime() - from;
		int last;
		memcpy(&last, data, sizeof last);
		check(once == halos || last == step, "what came back is not what was sent");
		if (rank == 0 && step > batch) /* the first batch warms up */
			printf("%s\t%.1f\n", name, took * 1e9 / (batch * divisor));
		more = MPI_Wtime() - begin < limit || step < LEAST * batch;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

static double processor(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* How much of a processor a rank takes that waits, from a millisecond on. */
static void waits(void)
{
	char c = 0;
	double share = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		usleep(200000);
		MPI_Send(&c, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(&share, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("waiting\t%.6f\n", share);
	} else {
		double from = MPI_Wtime(), used = processor();
		MPI_Recv(&c, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		share = (processor() - used - 1e-3) / (MPI_Wtime() - from - 1e-3);
		share = share < 0 ? 0 : share;
		MPI_Send(&share, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int level, size;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	check(size == 2 && argc == 2, "usage: mpiexec -n 2 comm MILLISECONDS");
	limit = atof(argv[1]) / 1000;
	char *data = aligned_alloc(4096, LONG);
	check(data != NULL, "no memory");
	memset(data, 0, LONG);
	repeat("8 bytes", blocking, data, 8, 20, 2);
	repeat("1 MiB", tested, data, LONG, 2, 2);
	repeat("halos", halos, data, 1000 + 2 * EDGE, 10, 1);
	waits();
	free(data);
	MPI_Finalize();
	return 0;
}
