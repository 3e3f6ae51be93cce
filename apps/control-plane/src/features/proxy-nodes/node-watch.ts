import { isReportProven, type NodeReport, type NodeState } from '@tollgate/contracts';
import { acceptedHashes } from './node-credentials.ts';

/** A worker that is silent this long, for five reports, counts as gone. */
export const SILENCE_MS = 10_000;

/** Holds PostgreSQL's facts about a node. */
export interface KnownNode {
  id: number;
  name: string;
  /** Holds the hashes of the node's own credentials; empty where it uses the fleet's. */
  credentialHashes: readonly string[];
  enabled: boolean;
  stopped: boolean;
  /** Is true when the node has reported before, and to no replica within SILENCE_MS. */
  isSilent: boolean;
  /** Lists the abilities of its software, from its last proven report. */
  abilities: readonly string[];
}

export interface SeenWorker {
  report: NodeReport;
  /** Is the time at which this process first saw this report, by its monotonic clock. */
  seenAtMs: number;
  isLive: boolean;
}

export type ReportVerdict =
  | { kind: 'accepted'; nodeId: number }
  /** The report has an unknown name and a proof with the fleet credential: a node registers itself. */
  | { kind: 'newcomer' }
  /** A node with this name was deleted, and only an administrator can restore it. */
  | { kind: 'removed' }
  | { kind: 'unproven' };

/**
 * Holds the last report of every worker, and whether the worker still reports. A worker is alive while its reports change as this process sees it, so
 * that neither a node's clock nor an old report in Redis makes a dead worker look alive for long.
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

  /** Takes all accepted reports that are in Redis now; removes workers without one. */
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
    // A report that the first check finds may have any age, so its own time must do. Later reports are known to be new.
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
