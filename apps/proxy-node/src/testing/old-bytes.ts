import { GCProfiler } from 'node:v8';

type Collections = ReturnType<GCProfiler['stop']>['statistics'];

interface OldBytes {
  /** Counts the bytes that minor collections moved there. */
  promoted: number;
  /** Counts the bytes allocated there, as far as a collection follows. */
  direct: number;
}

/** Counts the bytes that come into the old generation while `work` runs. */
export function oldBytesOf(work: () => void): OldBytes {
  const profiler = new GCProfiler();
  profiler.start();
  work();
  return grownBytes(profiler.stop().statistics);
}

function grownBytes(collections: Collections): OldBytes {
  const bytes = { promoted: 0, direct: 0 };
  let left: number | null = null;
  for (const { gcType, beforeGC, afterGC } of collections) {
    const [before, after] = [oldSpaceOf(beforeGC), oldSpaceOf(afterGC)];
    if (left !== null) bytes.direct += Math.max(0, before - left);
    if (gcType === 'Scavenge') bytes.promoted += Math.max(0, after - before);
    left = after;
  }
  return bytes;
}

function oldSpaceOf({ heapSpaceStatistics }: Collections[number]['beforeGC']): number {
  return heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0;
}
