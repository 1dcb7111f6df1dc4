/* The loop that everybody writes: MPI_Allreduce of floats, as many as asked, for each size; mean over the ranks.
   mpi_allreduce LEAST MOST FACTOR ITERATIONS WARM_UP: bytes. Prints "bytes microseconds" a line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double loop(const float* send, float* receive, int count, int iterations) {
  double begin;
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / iterations * 1e6;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) return MPI_Abort(MPI_COMM_WORLD, 2);
  const long least = atol(argv[1]), most = atol(argv[2]), factor = atol(argv[3]);
  const int iterations = atoi(argv[4]), warm_up = atoi(argv[5]);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (least < 4 || most < least || factor < 2 || iterations < 1) return MPI_Abort(MPI_COMM_WORLD, 2);
  float* send = aligned_alloc(4096, (size_t)(most + 4095) / 4096 * 4096);
  float* receive = aligned_alloc(4096, (size_t)(most + 4095) / 4096 * 4096);
  if (send == NULL || receive == NULL) return MPI_Abort(MPI_COMM_WORLD, 3);
  for (long i = 0; i < most / 4; ++i) send[i] = receive[i] = 1.0F;
  for (long size = least; size <= most; size *= factor) {
    double own, sum = 0;
    loop(send, receive, (int)(size / 4), warm_up);
    own = loop(send, receive, (int)(size / 4), iterations);
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%ld %.3f\n", size, sum / ranks);
  }
  free(send);
  free(receive);
  MPI_Finalize();
  return 0;
}
