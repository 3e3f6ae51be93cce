import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import type { Credential } from '../../platform/access/caller.ts';
import { lockUntilEnd } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { beforeCommit } from '../../platform/database/transactions.ts';
import { canonicalJson } from '../../platform/idempotency/canonical-json.ts';
import { maskSecrets } from './mask-secrets.ts';

/** Is the person or program that acted; a `Caller` has this shape. */
export interface Actor {
  userId: number | null;
  username: string | null;
  address: string | null;
  requestId: string | null;
  credential?: Credential;
}

/** Is the actor of work without a request: workers, the command line, the first start. */
export const SYSTEM: Actor = { userId: null, username: 'system', address: null, requestId: null };

export interface Activity {
  /** Is the action as `<target kind>.<verb>`, for example `user.freeze`. */
  action: string;
  target: { kind: string; id: number | string | null };
  /** Holds the values before and after the change. The service masks secrets in them. */
  before?: object | undefined;
  after?: object | undefined;
}

export interface ChainVerdict {
  entries: number;
  /** Is the id of the first entry whose hash does not follow from its content and its predecessor; null when the chain is intact. */
  brokenAt: number | null;
}

/** Is the action of an entry that excuses others: its `after.entries` holds the id and hash of each entry that was emptied of the person it names. */
export const ERASURE = 'user.erase';

const GENESIS = '0'.repeat(64);
const VERIFY_BATCH = 1_000;

const chainedRow = z.object({
  id: z.coerce.number(),
  at: z.date(),
  actor_user_id: z.number().nullable(),
  actor_name: z.string().nullable(),
  action: z.string(),
  target_kind: z.string(),
  target_id: z.string().nullable(),
  before: z.unknown(),
  after: z.unknown(),
  address: z.string().nullable(),
  request_id: z.string().nullable(),
  token_id: z.number().nullable(),
  previous_hash: z.string(),
  hash: z.string(),
});
type Link = Omit<z.infer<typeof chainedRow>, 'id' | 'hash'>;
const excuseRow = z.object({ by: z.coerce.number(), id: z.coerce.number(), hash: z.string() });
/** Maps the id of each emptied entry to its hash and the latest entry that excuses it. */
type Excuses = ReadonlyMap<number, { by: number; hash: string }>;

@Injectable()
export class ActivityService {
  constructor(private readonly dataSource: DataSource) {}

  /** Appends an entry as the last step of `tx`, so that a change and its record commit together. */
  record(tx: EntityManager, actor: Actor, activity: Activity): void {
    beforeCommit(tx, () => this.append(tx, actor, activity));
  }

  /**
   * Recomputes the whole chain. A changed, missing or inserted entry breaks it from that place on. An entry that an erasure emptied keeps its hash,
   * and only a later entry of the chain that names both excuses it.
   */
  async verify(): Promise<ChainVerdict> {
    const excuses = await this.readExcuses();
    let previousHash = GENESIS;
    let lastId = 0;
    for (let entries = 0; ;) {
      const rows: unknown[] = await this.dataSource.query(
        'SELECT * FROM activity_log WHERE id > $1 ORDER BY id LIMIT $2',
        [lastId, VERIFY_BATCH],
      );
      for (const row of rows.map((raw) => chainedRow.parse(raw))) {
        if (
          row.previous_hash !== previousHash ||
          !(row.hash === hashOf(row) || isExcused(row, excuses))
        )
          return { entries, brokenAt: row.id };
        previousHash = row.hash;
        lastId = row.id;
        entries += 1;
      }
      if (rows.length < VERIFY_BATCH) return { entries, brokenAt: null };
    }
  }

  private async readExcuses(): Promise<Excuses> {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT a.id AS by, e.key AS id, e.value AS hash FROM activity_log a, jsonb_each_text(a.after -> 'entries') e WHERE a.action = $1 ORDER BY a.id`,
      [ERASURE],
    );
    return new Map(
      rows.map((row) => excuseRow.parse(row)).map(({ id, by, hash }) => [id, { by, hash }]),
    );
  }

  private async append(tx: EntityManager, actor: Actor, activity: Activity): Promise<void> {
    // One writer appends at a time, because each entry names its predecessor.
    await lockUntilEnd(tx, [ADVISORY_LOCKS.activityChain]);
    const last: { hash: string }[] = await tx.query(
      'SELECT hash FROM activity_log ORDER BY id DESC LIMIT 1',
    );
    const link: Link = {
      at: new Date(),
      actor_user_id: actor.userId,
      actor_name: actor.username,
      action: activity.action,
      target_kind: activity.target.kind,
      target_id: activity.target.id === null ? null : String(activity.target.id),
      before: asStored(activity.before),
      after: asStored(activity.after),
      address: actor.address,
      request_id: actor.requestId,
      token_id: actor.credential?.kind === 'access_token' ? actor.credential.id : null,
      previous_hash: last[0]?.hash ?? GENESIS,
    };
    await tx.query(
      `INSERT INTO activity_log (at, actor_user_id, actor_name, action, target_kind, target_id, before, after, address, request_id, token_id, previous_hash, hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        link.at,
        link.actor_user_id,
        link.actor_name,
        link.action,
        link.target_kind,
        link.target_id,
        toJson(link.before),
        toJson(link.after),
        link.address,
        link.request_id,
        link.token_id,
        link.previous_hash,
        hashOf(link),
      ],
    );
  }
}

/** The walk verifies the excusing entry itself when it reaches it. */
function isExcused(row: z.infer<typeof chainedRow>, excuses: Excuses): boolean {
  const excuse = excuses.get(row.id);
  const isEmpty = [row.actor_name, row.address, row.before, row.after].every(
    (value) => value === null,
  );
  return isEmpty && row.action !== ERASURE && excuse?.hash === row.hash && excuse.by > row.id;
}

function hashOf(link: Link): string {
  const {
    at,
    actor_user_id,
    actor_name,
    action,
    target_kind,
    target_id,
    before,
    after,
    address,
    request_id,
    token_id,
    previous_hash,
  } = link;
  const content = [
    previous_hash,
    at.toISOString(),
    actor_user_id,
    actor_name,
    action,
    target_kind,
    target_id,
    before ?? null,
    after ?? null,
    address,
    request_id,
    // Older entries have no token id.
    ...(token_id === null ? [] : [token_id]),
  ];
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

/** Returns the value as PostgreSQL returns it later, so that the hash computed here equals that of the stored entry. */
function asStored(value: object | undefined): unknown {
  return value === undefined ? null : JSON.parse(canonicalJson(maskSecrets(value)));
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
