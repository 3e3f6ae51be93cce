/** At most this many requests run at a time; the control plane's pool of connections is slightly larger. */
const PARALLEL_MAX = 8;

/** Runs the work of all entries, a few at a time. Rejects with the first failure. */
export async function inParallel<T>(
  entries: readonly T[],
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const rest = entries.values();
  const workers = Array.from({ length: PARALLEL_MAX }, async () => {
    for (const entry of rest) await work(entry);
  });
  await Promise.all(workers);
}
