import { isReportProven, type NodeReport, type NodeState } from '@tollgate/contracts';
import { acceptedHashes } from './node-credentials.ts';

/** Silence after which a worker counts as gone: five missed reports. */
export const SILENCE_MS = 10_000;

/** PostgreSQL's facts about a node. */
export interface KnownNode {
  id: number;
  name: string;
  /** Its own; empty where it has the fleet's. */
  credentialHashes: readonly string[];
  enabled: boolean;
  stopped: boolean;
  /** It has reported before, and to no replica within SILENCE_MS. */
  isSilent: boolean;
  /** The abilities of its software, by its last proven report. */
  abilities: readonly string[];
}

export interface SeenWorker {
  report: NodeReport;
  /** The time at which this very report was first seen, by this process' monotonic clock. */
  seenAtMs: number;
  isLive: boolean;
}

export type ReportVerdict =
  | { kind: 'accepted'; nodeId: number }
  /** Proven with the fleet credential under an unknown name: a node that registers itself. */
  | { kind: 'newcomer' }
  /** A node of that name was deleted; only an administrator brings it back. */
  | { kind: 'removed' }
  | { kind: 'unproven' };

/**
 * The last report of every worker, and whether the worker still reports. Liveness goes by the change of reports as seen from here,
 * so neither a node's clock nor a report left behind in Redis can make a dead worker look alive for long.
 */
export class NodeWatch {
  private readonly workers = new Map<string, SeenWorker>();
  private hasLooked = false;

  constructor(
    private readonly fleetHashes: readonly string[],
    private readonly clocks: { monotonic: () => number; unix: () => number } = {
      monotonic: () => performance.now(),
      unix: Date.now,
    },
  ) {}

  judge(
    report: NodeReport,
    nodes: ReadonlyMap<string, KnownNode>,
    removedNames: ReadonlySet<string>,
  ): ReportVerdict {
    const node = nodes.get(report.name);
    if (node)
      return acceptedHashes(node.credentialHashes, this.fleetHashes).some((hash) =>
        isReportProven(report, hash),
      )
        ? { kind: 'accepted', nodeId: node.id }
        : { kind: 'unproven' };
    if (removedNames.has(report.name)) return { kind: 'removed' };
    return this.fleetHashes.some((hash) => isReportProven(report, hash))
      ? { kind: 'newcomer' }
      : { kind: 'unproven' };
  }

  /** Takes in all accepted reports as they stand in Redis now; workers without one are forgotten. */
  observe(reports: readonly NodeReport[]): void {
    const nowMs = this.clocks.monotonic();
    const keys = new Set(reports.map(keyOf));
    for (const key of this.workers.keys()) if (!keys.has(key)) this.workers.delete(key);
    for (const report of reports) this.see(report, nowMs);
    this.hasLooked = true;
  }

  workersOf(name: string): SeenWorker[] {
    const nowMs = this.clocks.monotonic();
    return [...this.workers.values()]
      .filter((worker) => worker.report.name === name)
      .map((worker) => ({ ...worker, isLive: nowMs - worker.seenAtMs < SILENCE_MS }))
      .sort((a, b) => a.report.worker - b.report.worker);
  }

  stateOf(node: Pick<KnownNode, 'name' | 'enabled' | 'stopped'>): NodeState {
    const live = this.workersOf(node.name).filter((worker) => worker.isLive);
    if (live.length === 0) return 'offline';
    if (!node.enabled) return 'disabled';
    if (node.stopped) return 'stopped';
    return live.every((worker) => worker.report.state === 'draining') ? 'draining' : 'online';
  }

  private see(report: NodeReport, nowMs: number): void {
    const known = this.workers.get(keyOf(report));
    const isSame =
      known?.report.instance === report.instance && known.report.reported_at === report.reported_at;
    // A report found at the first look may be of any age, so its own clock must do; later ones are known to be new.
    const seenAtMs = isSame
      ? known.seenAtMs
      : this.hasLooked
        ? nowMs
        : nowMs - Math.max(0, this.clocks.unix() - report.reported_at);
    this.workers.set(keyOf(report), { report, seenAtMs, isLive: true });
  }
}

function keyOf(report: NodeReport): string {
  return `${report.name}:${report.worker}`;
}
