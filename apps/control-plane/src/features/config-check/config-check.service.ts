import { Injectable } from '@nestjs/common';
import { FleetStore } from '@tollgate/keyspace';
import { checksumOf, compileSnapshot, findProblems } from '@tollgate/snapshot';
import { DataSource } from 'typeorm';
import { budgetedNames } from '../budgets/budgeted-names.sql.ts';
import { allowedNames } from '../keys/allowed-names.sql.ts';
import { namesOfNoModel } from '../models/known-models.sql.ts';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';
import { SnapshotRepository, type SnapshotHead } from '../snapshots/snapshot-repository.sql.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import type { KnownNode } from '../proxy-nodes/node-watch.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import type { ConfigCheckResult, FoundProblem } from './config-check.dto.ts';

/** The list is for reading and not an export. */
const NAME_PROBLEMS_MAX = 100;

/** Compiles the configuration without publishing it, and reports problems of the configuration and of what Redis and the nodes run instead. */
@Injectable()
export class ConfigCheck {
  constructor(
    private readonly dataSource: DataSource,
    private readonly repository: SnapshotRepository,
    private readonly fleet: FleetStore,
    private readonly registry: NodeRegistry,
    private readonly nodes: ProxyNodesService,
  ) {}

  /** Checks the configuration; throws not_found for an unknown node. */
  async check(nodeId?: number): Promise<ConfigCheckResult> {
    await this.nodes.scope(nodeId);
    const { manager } = this.dataSource;
    const rows = await readRoutingRows(manager);
    const checksum = checksumOf(compileSnapshot(rows));
    const latest = await this.repository.latest(manager);
    const { pinnedVersion } = await this.repository.settings(manager, { isLocked: false });
    const problems: FoundProblem[] = [
      ...findProblems(rows, Date.now()),
      ...(await this.keyProblems()),
      ...(await this.budgetProblems()),
      ...publicationProblems({ checksum, latest, pinnedVersion }),
      ...(await this.redisProblems(latest)),
      ...(await this.nodeProblems(latest, nodeId)),
    ];
    return {
      ok: !problems.some((problem) => problem.severity === 'error'),
      version: latest?.version ?? null,
      checksum,
      published_checksum: latest?.checksum ?? null,
      pinned_version: pinnedVersion,
      problems,
    };
  }

  /** Finds names and patterns of keys that match no model: a misspelt one leaves the key without models. */
  private async keyProblems(): Promise<FoundProblem[]> {
    const allowed = await this.ofNoModel(await allowedNames(this.dataSource));
    return allowed.map(({ name, id, keys }) => ({
      code: 'key_allows_unknown_model',
      severity: 'warning',
      subject: { kind: 'key', id },
      message: `${keys === 1 ? 'a key allows' : `${keys} keys allow`} "${name}", which names no model`,
    }));
  }

  /** Finds names and patterns of budgets that match no model: a misspelt one leaves the budget without effect. */
  private async budgetProblems(): Promise<FoundProblem[]> {
    const counted = await this.ofNoModel(await budgetedNames(this.dataSource));
    return counted.map(({ name, id, budgets }) => ({
      code: 'budget_counts_unknown_model',
      severity: 'warning',
      subject: { kind: 'budget', id },
      message: `${budgets === 1 ? 'a budget counts' : `${budgets} budgets count`} "${name}", which names no model`,
    }));
  }

  private async ofNoModel<Named extends { name: string }>(
    named: readonly Named[],
  ): Promise<Named[]> {
    const names = named.map(({ name }) => name);
    const unknown = await namesOfNoModel(this.dataSource, names);
    return named.filter(({ name }) => unknown.has(name)).slice(0, NAME_PROBLEMS_MAX);
  }

  private async redisProblems(latest: SnapshotHead | null): Promise<FoundProblem[]> {
    const current = await this.fleet.currentVersion().catch(() => undefined);
    if (current === undefined)
      return [
        fleetProblem(
          'redis_unreachable',
          'error',
          'Redis does not answer, so nothing can be published',
        ),
      ];
    if (current === (latest?.version ?? null)) return this.storedProblems(latest);
    return [
      fleetProblem(
        'redis_drift',
        'error',
        `Redis holds version ${current ?? 'none'}, PostgreSQL ${latest?.version ?? 'none'}`,
      ),
    ];
  }

  private async storedProblems(latest: SnapshotHead | null): Promise<FoundProblem[]> {
    const verdict = latest === null ? null : await this.fleet.fetchSnapshot(latest.version);
    if (
      latest === null ||
      (verdict?.kind === 'ok' && verdict.snapshot.checksum === latest.checksum)
    )
      return [];
    return [
      fleetProblem(
        'redis_drift',
        'error',
        `The snapshot in Redis is not version ${latest.version} of PostgreSQL: ${verdict?.kind === 'refused' ? verdict.message : 'missing or of another checksum'}`,
      ),
    ];
  }

  private async nodeProblems(
    latest: SnapshotHead | null,
    nodeId?: number,
  ): Promise<FoundProblem[]> {
    const known = await this.registry.look().catch(() => undefined);
    return [...(known?.nodes.values() ?? [])]
      .filter((node) => nodeId === undefined || node.id === nodeId)
      .flatMap((node) => this.problemsOf(node, latest));
  }

  private problemsOf(node: KnownNode, latest: SnapshotHead | null): FoundProblem[] {
    const live = this.registry.watch.workersOf(node.name).filter((worker) => worker.isLive);
    const problem = (
      code: string,
      severity: FoundProblem['severity'],
      message: string,
    ): FoundProblem => ({ code, severity, subject: { kind: 'node', id: node.id }, message });
    if (live.length === 0)
      return [problem('node_offline', 'warning', `node ${node.name} is offline`)];
    return live.flatMap(({ report }) => {
      if (report.refused !== null)
        return [
          problem(
            'node_refuses_snapshot',
            'error',
            `node ${node.name}, worker ${report.worker}, refuses the snapshot: ${report.refused}`,
          ),
        ];
      if (report.version === latest?.version && report.checksum === latest.checksum) return [];
      return [
        problem(
          'node_drift',
          'warning',
          `node ${node.name}, worker ${report.worker}, runs version ${report.version}, published is ${latest?.version ?? 'none'}`,
        ),
      ];
    });
  }
}

function publicationProblems({
  checksum,
  latest,
  pinnedVersion,
}: {
  checksum: string;
  latest: SnapshotHead | null;
  pinnedVersion: number | null;
}): FoundProblem[] {
  if (pinnedVersion !== null)
    return [
      fleetProblem(
        'snapshot_pinned',
        'warning',
        `publication is pinned to version ${pinnedVersion}; changes wait until POST /snapshots/unpin`,
      ),
    ];
  if (checksum === latest?.checksum) return [];
  return [
    fleetProblem(
      'unpublished_changes',
      'warning',
      'PostgreSQL holds changes that are not published yet',
    ),
  ];
}

function fleetProblem(
  code: string,
  severity: FoundProblem['severity'],
  message: string,
): FoundProblem {
  return { code, severity, subject: { kind: 'fleet', id: null }, message };
}
