import { renameSync, writeFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';

/** This file is loaded into a process with --import: SIGUSR2 writes the bytes that it has allocated since its start to BENCH_HEAP. */
const file = process.env.BENCH_HEAP;
process.on('SIGUSR2', () => {
  writeFileSync(`${file}.new`, String(getHeapStatistics().total_allocated_bytes));
  renameSync(`${file}.new`, file);
});
