import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { OWN_CREDENTIALS } from './node-credentials.ts';
import { SILENCE_MS, type KnownNode } from './node-watch.ts';

/** A node that came by itself and has been silent this long is gone permanently; it may return by its next heartbeat. */
const SELF_REGISTERED_SILENCE = '24 hours';
/** last_seen_at is for people, and must stay well below the silence after which a node is missed. Each write ends the peace in which repeated looks ask nothing. */
const LAST_SEEN_STEP_MS = 5_000;

const nodeRow = z.object({
  id: z.number(),
  name: z.string(),
  credential_hashes: z.array(z.string()),
  enabled: z.boolean(),
  stopped: z.boolean(),
  is_silent: z.boolean(),
  abilities: z.array(z.string()),
});
const fleetRow = z.object({ nodes: z.array(nodeRow), removed: z.array(z.string()) });
/** One statement asks for all, as each replica asks more than once a second. */
const FLEET = prepared(
  `SELECT
     (SELECT coalesce(json_agg(n), '[]') FROM (
       SELECT id, name, ${OWN_CREDENTIALS} AS credential_hashes, enabled, stopped, coalesce(last_seen_at < now() - interval '${SILENCE_MS} milliseconds', false) AS is_silent, abilities
       FROM proxy_nodes WHERE deleted_at IS NULL) n) AS nodes,
     ARRAY(SELECT name FROM proxy_nodes WHERE deleted_at IS NOT NULL EXCEPT SELECT name FROM proxy_nodes WHERE deleted_at IS NULL) AS removed`,
);
const idRow = z.object({ id: z.number(), name: z.string() });

export interface KnownFleet {
  nodes: ReadonlyMap<string, KnownNode>;
  /** Lists the names of deleted nodes that are not restored. */
  removedNames: ReadonlySet<string>;
}

/** Has the statements of the registry's own tables. Several replicas may run each of them at once. */
@Injectable()
export class NodeRepository {
  private readonly notedAtMs = new Map<number, number>();

  constructor(private readonly dataSource: DataSource) {}

  async fleet(tx: EntityManager = this.dataSource.manager): Promise<KnownFleet> {
    const [row]: unknown[] = await tx.query(FLEET);
    return toKnownFleet(row);
  }

  /** Serves looks that are repeated: see `repeatedLook`. A node may have become silent since, or a former credential have expired: some seconds ago, as each report is noted. */
  async fleetAgain(): Promise<KnownFleet> {
    const [row] = await repeatedLook(this.dataSource, FLEET);
    return toKnownFleet(row);
  }

  /** Locks these nodes until `tx` ends. */
  async hold(tx: EntityManager, names: readonly string[]): Promise<void> {
    await tx.query('SELECT id FROM proxy_nodes WHERE name = ANY($1) ORDER BY id FOR SHARE', [
      names,
    ]);
  }

  /** A name that was ever registered is left as it is, removed ones too. */
  async declare(name: string, credentialHash: string): Promise<void> {
    await this.dataSource.query(
      `INSERT INTO proxy_nodes (name, credential_hash) SELECT $1, $2
       WHERE NOT EXISTS (SELECT 1 FROM proxy_nodes WHERE name = $1)
       ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING`,
      [name, credentialHash],
    );
  }

  async register(name: string): Promise<void> {
    await this.dataSource.query(
      'INSERT INTO proxy_nodes (name, is_self_registered, last_seen_at) VALUES ($1, true, now()) ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING',
      [name],
    );
  }

  async noteAbilities(id: number, abilities: readonly string[]): Promise<void> {
    await this.dataSource.query('UPDATE proxy_nodes SET abilities = $2 WHERE id = $1', [
      id,
      abilities,
    ]);
  }

  async noteSeen(ids: readonly number[]): Promise<void> {
    const nowMs = performance.now();
    const isDue = ids.some(
      (id) => nowMs - (this.notedAtMs.get(id) ?? -Infinity) >= LAST_SEEN_STEP_MS,
    );
    if (!isDue) return;
    // All nodes are noted at once, in one write for a fleet.
    for (const id of ids) this.notedAtMs.set(id, nowMs);
    await this.dataSource.query(
      `UPDATE proxy_nodes SET last_seen_at = now() WHERE id = ANY($1) AND (last_seen_at IS NULL OR last_seen_at < now() - interval '${LAST_SEEN_STEP_MS / 2} milliseconds')`,
      [ids],
    );
  }

  /** Forgets self-registered nodes that stayed away, without a tombstone; never one that an administrator disabled or stopped, because it would return as serving. Returns the removed nodes. */
  async removeForgotten(tx: EntityManager): Promise<{ id: number; name: string }[]> {
    const [rows]: [unknown[], number] = await tx.query(
      `DELETE FROM proxy_nodes WHERE is_self_registered AND enabled AND NOT stopped AND deleted_at IS NULL AND coalesce(last_seen_at, created_at) < now() - interval '${SELF_REGISTERED_SILENCE}' RETURNING id, name`,
    );
    return rows.map((row) => idRow.parse(row));
  }
}

function toKnownFleet(row: unknown): KnownFleet {
  const fleet = fleetRow.parse(row);
  const nodes = fleet.nodes.map((node) => ({
    id: node.id,
    name: node.name,
    credentialHashes: node.credential_hashes,
    enabled: node.enabled,
    stopped: node.stopped,
    isSilent: node.is_silent,
    abilities: node.abilities,
  }));
  return {
    nodes: new Map(nodes.map((node) => [node.name, node])),
    removedNames: new Set(fleet.removed),
  };
}
