import { GCProfiler } from 'node:v8';

type Collections = ReturnType<GCProfiler['stop']>['statistics'];

/** Bytes that come into the old generation while `work` runs: moved there by minor collections, or allocated there at once. */
export async function oldBytesOf(work: () => void | Promise<void>): Promise<number> {
  const profiler = new GCProfiler();
  profiler.start();
  await work();
  return grownBytes(profiler.stop().statistics);
}

function grownBytes(collections: Collections): number {
  let bytes = 0;
  let left: number | null = null;
  for (const { gcType, beforeGC, afterGC } of collections) {
    const [before, after] = [oldSpaceOf(beforeGC), oldSpaceOf(afterGC)];
    if (left !== null) bytes += Math.max(0, before - left);
    if (gcType === 'Scavenge') bytes += Math.max(0, after - before);
    left = after;
  }
  return bytes;
}

function oldSpaceOf({ heapSpaceStatistics }: Collections[number]['beforeGC']): number {
  return heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0;
}
