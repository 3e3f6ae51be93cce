import { readFileSync, statSync } from 'node:fs';

/** A process that waits for something uses less than this between two looks that are a timeout apart; one that starts slowly uses more. The unit is ticks of 10 ms. */
const CPU_TICKS = 50;
/** A process that runs in a circle makes what looks like progress: it gets so many timeouts. */
const TIMEOUTS_MAX = 5;

/**
 * Judges whether a process that starts still makes progress: it uses CPU, or its log grows. A machine under load takes longer than any fixed time, and to
 * end what would be ready soon makes the load worse. Where CPU time cannot be read (not Linux) the log alone counts.
 */
export class ProgressWatch {
  private readonly timeoutMs: number;
  private readonly logFile: string;
  private readonly startedAtMs = performance.now();
  private movedAtMs = this.startedAtMs;
  private ticks = 0;
  private logBytes = 0;

  constructor(timeoutMs: number, logFile: string) {
    this.timeoutMs = timeoutMs;
    this.logFile = logFile;
  }

  get limit(): string {
    return `${this.timeoutMs / 1000} s without progress, or ${(TIMEOUTS_MAX * this.timeoutMs) / 1000} s in all`;
  }

  isOver(pid: number): boolean {
    const nowMs = performance.now();
    if (nowMs - this.startedAtMs >= TIMEOUTS_MAX * this.timeoutMs) return true;
    if (nowMs - this.movedAtMs < this.timeoutMs) return false;
    const [ticks, logBytes] = [cpuTicksOf(pid), sizeOf(this.logFile)];
    const hasMoved = ticks - this.ticks >= CPU_TICKS || logBytes > this.logBytes;
    Object.assign(this, { ticks, logBytes, movedAtMs: hasMoved ? nowMs : this.movedAtMs });
    return !hasMoved;
  }
}

/** Returns the user and system time (proc(5), fields 14 and 15). */
function cpuTicksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}
