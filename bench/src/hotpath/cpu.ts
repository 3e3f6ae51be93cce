import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time of processes and all their descendants, by thread, in nanoseconds as the scheduler counts them: /proc/<pid>/task/<tid>/schedstat
 * (https://docs.kernel.org/scheduler/sched-stats.html). Waiting for a core that others use does not count, so a busy machine disturbs it little.
 */
export class CpuClock {
  readonly #roots: readonly number[];
  #before: ReadonlyMap<string, number>;

  constructor(...roots: readonly number[]) {
    this.#roots = roots;
    this.#before = readThreads(roots);
  }

  /** Returns microseconds since the last call or the start. Threads that ended meanwhile are not counted. */
  lap(): number {
    const now = readThreads(this.#roots);
    let nanoseconds = 0;
    for (const [thread, spent] of now) nanoseconds += spent - (this.#before.get(thread) ?? 0);
    this.#before = now;
    return nanoseconds / 1_000;
  }
}

function readThreads(roots: readonly number[]): Map<string, number> {
  const spent = new Map<string, number>();
  const waiting = [...roots];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    for (const thread of threadsOf(pid)) {
      const folder = `/proc/${pid}/task/${thread}`;
      const [nanoseconds] = readText(`${folder}/schedstat`).split(' ');
      spent.set(`${pid}/${thread}`, Number(nanoseconds));
      waiting.push(...readText(`${folder}/children`).split(' ').filter(Boolean).map(Number));
    }
  }
  return spent;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Returns '' when the thread ended between two looks. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the resident memory of a process and its descendants' private share, in MB (proportional set size). */
export function memoryMb(root: number): number {
  const pids = new Set([...readThreads([root]).keys()].map((thread) => thread.split('/', 1)[0]));
  let kilobytes = 0;
  for (const pid of pids)
    kilobytes += Number(/^Pss:\s+(\d+)/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  return kilobytes / 1_024;
}
