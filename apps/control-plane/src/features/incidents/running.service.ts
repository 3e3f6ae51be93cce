import { Inject, Injectable } from '@nestjs/common';
import { runningRequestSchema, type ControlPlaneMac } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { CONTROL_PLANE_MAC } from '../../platform/secrets/secrets.module.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { nameRecords, type RecordRef } from '../names/record-names.sql.ts';
import { NodeDumps, type WorkerDump } from '../proxy-nodes/node-dumps.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import type { RunningRequestResponse, RunningRequestsAnswer } from './running.dto.ts';

/** A worker lists, and an answer shows, at most this many requests. */
const OF_WORKER_MAX = 1_000;
const SHOWN_MAX = 500;
/** Nodes are asked at most once within this time for all accounts, and once for each account, however many tabs show the list. */
const KEPT_MS = 900;
const KINDS = ['user', 'key', 'model', 'upstream'] as const;

interface Found {
  answer: RunningRequestsAnswer;
  /** Holds also the rows beyond those that the answer shows, without names. */
  all: readonly RunningRequestResponse[];
}

interface Look {
  atMs: number;
  found: Promise<Found>;
}

/** Lists the requests that run now, as the nodes report them. */
@Injectable()
export class RunningService {
  /** Maps an account to its last read; undefined is the read of all accounts. */
  private readonly looks = new Map<number | undefined, Look>();

  constructor(
    private readonly dumps: NodeDumps,
    private readonly nodes: ProxyNodesService,
    private readonly fleet: FleetStore,
    private readonly scope: AccountScope,
    private readonly activity: ActivityService,
    private readonly transactions: Transactions,
    private readonly dataSource: DataSource,
    @Inject(CONTROL_PLANE_MAC) private readonly mac: ControlPlaneMac,
  ) {}

  async list(caller: Caller, userId?: number): Promise<RunningRequestsAnswer> {
    const { answer } = await this.look(await this.scope.resolveList(caller, userId));
    if (caller.role === 'admin') return answer;
    return { ...answer, data: answer.data.map(withoutSuppliers), silent_workers: 0 };
  }

  /** Ends a request as if its client had left. The node does so at once; `list` shows the request as ending while its usage is read. */
  async end(caller: Caller, rid: string, reason: string): Promise<{ rid: string }> {
    const { all } = await this.look(await this.scope.resolveList(caller));
    const request = all.find((one) => one.rid === rid);
    if (!request) throw new Refusal('not_found');
    await this.transactions.run(async (tx) => {
      this.activity.record(tx, caller, {
        action: 'request.end',
        target: { kind: 'request', id: rid },
        after: { reason, user_id: request.user_id, model_id: request.model_id },
      });
    });
    await this.fleet.announce({
      kind: 'end_request',
      rid,
      mac: this.mac.sign('end-request', [rid]),
    });
    return { rid };
  }

  private look(accountId: number | undefined): Promise<Found> {
    const nowMs = performance.now();
    for (const [key, { atMs }] of this.looks) if (nowMs - atMs > KEPT_MS) this.looks.delete(key);
    const known = this.looks.get(accountId);
    if (known) return known.found;
    const found = this.ask(accountId);
    this.looks.set(accountId, { atMs: nowMs, found });
    return found;
  }

  private async ask(accountId: number | undefined): Promise<Found> {
    const workers = await this.dumps.ask(await this.nodes.scope(undefined), {
      table: 'requests',
      page: 1,
      page_size: OF_WORKER_MAX,
      account_id: accountId,
    });
    const all = workers
      .flatMap(rowsOf)
      // A node of another release may not know the filter.
      .filter((row) => accountId === undefined || row.user_id === accountId)
      .toSorted((one, other) => one.started_at.localeCompare(other.started_at));
    const answer = {
      at: new Date().toISOString(),
      total: Math.max(all.length, sum(workers.map(({ dump }) => dump?.total ?? 0))),
      data: await this.named(all.slice(0, SHOWN_MAX)),
      silent_workers: workers.filter(({ dump }) => dump === null).length,
    };
    return { answer, all };
  }

  private async named(rows: readonly RunningRequestResponse[]): Promise<RunningRequestResponse[]> {
    const refOf = (kind: (typeof KINDS)[number], row: RunningRequestResponse): RecordRef => ({
      kind,
      id: String(row[`${kind}_id`] ?? ''),
    });
    const refs = KINDS.flatMap((kind) => rows.map((row) => refOf(kind, row)));
    const nameOf = await nameRecords(this.dataSource, refs);
    return rows.map((row) => ({
      ...row,
      username: nameOf(refOf('user', row)).name,
      key_name: nameOf(refOf('key', row)).name,
      model: nameOf(refOf('model', row)).name,
      upstream: nameOf(refOf('upstream', row)).name,
    }));
  }
}

/** Skips rows that cannot be read, which come from another release. */
function rowsOf({ name, worker, dump }: WorkerDump): RunningRequestResponse[] {
  return (dump?.rows ?? []).flatMap(({ key: rid, value }) => {
    const row = runningRequestSchema.safeParse(value).data;
    if (!row) return [];
    const { account_id: userId, started_at: startedAtMs, ...rest } = row;
    const names = { username: null, key_name: null, model: null, upstream: null };
    const node = `${name}:${worker}`;
    const startedAt = new Date(startedAtMs).toISOString();
    return [{ rid, user_id: userId, ...names, node, ...rest, started_at: startedAt }];
  });
}

function withoutSuppliers(row: RunningRequestResponse): RunningRequestResponse {
  return { ...row, upstream_id: null, upstream: null, node: null };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
