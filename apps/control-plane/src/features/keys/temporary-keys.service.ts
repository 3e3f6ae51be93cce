import { Injectable } from '@nestjs/common';
import { issueApiKey } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import { sessionIdOf, type Caller } from '../../platform/access/caller.ts';
import { lockSession } from '../../platform/access/session-rows.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { CeilingsService } from '../ceilings/ceilings.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { ApiKeyRow } from './api-key.entity.ts';
import { deleteEndedKeys, deleteKeysOfSession, hasEndedKeys } from './delete-keys.sql.ts';
import type { TemporaryKey } from './keys.dto.ts';
import { KeysService } from './keys.service.ts';

const LIFETIME_MS = 15 * 60 * 1000;
const RPM = 20;
/** A key ends within a second of its session; a check costs one read of a small index. */
const SWEEP_MS = 400;
const NAME = 'playground';

/** Manages the keys of the playground, which never needs the secret of an existing key. A session has one such key, for a quarter of an hour. */
@Injectable()
export class TemporaryKeysService extends BackgroundService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: KeysService,
    private readonly scope: AccountScope,
    private readonly transactions: Transactions,
    private readonly liveState: LiveStateService,
    private readonly ceilings: CeilingsService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
  ) {
    super({
      name: 'temporary-keys',
      everyMs: SWEEP_MS,
      failing: 'keys of the playground cannot be deleted; trying again',
      stopsFirst: true,
    });
  }

  protected runOnce(): Promise<void> {
    return this.sweep();
  }

  /** Creates a key with the models of the caller's key `likeKeyId`, or with all models. The session's earlier temporary key ends. */
  async create(
    caller: Caller,
    likeKeyId: number | undefined,
    idempotencyKey: string | undefined,
  ): Promise<TemporaryKey> {
    const sid = sessionIdOf(caller);
    const like =
      likeKeyId === undefined ? undefined : await this.keys.findOwn(caller.userId, likeKeyId);
    const issued = issueApiKey(caller.userId);
    const request = {
      userId: caller.userId,
      route: 'POST /playground/key',
      key: idempotencyKey,
      body: { sid, key_id: likeKeyId },
      status: 201,
      secrets: ['key'],
    };
    return this.idempotency.run(request, async (tx) => {
      await this.scope.keep(tx, caller.userId);
      await this.ceilings.keep(tx);
      // Two tabs of one session may create a key at once: the second waits here and replaces the first one's.
      await lockSession(tx, sid);
      await this.liveState.keysChanged(tx, await deleteKeysOfSession(tx, sid));
      await this.keys.keepBelowLimit(tx, caller.userId);
      const row = await insertKey(tx, { userId: caller.userId, sid, issued, like });
      const { id } = row;
      await this.liveState.keyChanged(tx, id);
      this.activity.record(tx, caller, {
        action: 'key.create_temporary',
        target: { kind: 'key', id },
        after: { allowed_models: row.allowedModels, ...row.limits, like_key_id: likeKeyId ?? null },
      });
      return {
        id,
        key: issued.key,
        allowed_models: row.allowedModels,
        rpm: row.limits.rpm ?? 0,
        expires_at: (row.expiresAt ?? new Date()).toISOString(),
      };
    });
  }

  /** Deletes temporary keys that have ended. */
  async sweep(): Promise<void> {
    if (await hasEndedKeys(this.dataSource))
      await this.transactions.run(async (tx) =>
        this.liveState.keysChanged(tx, await deleteEndedKeys(tx)),
      );
  }
}

async function insertKey(
  tx: EntityManager,
  {
    userId,
    sid,
    issued,
    like,
  }: {
    userId: number;
    sid: string;
    issued: ReturnType<typeof issueApiKey>;
    like: ApiKeyRow | undefined;
  },
): Promise<ApiKeyRow> {
  const repository = tx.getRepository(ApiKeyRow);
  const inserted = await repository.insert({
    userId,
    name: NAME,
    keyHash: issued.hash,
    keyPrefix: issued.prefix,
    allowedModels: like?.allowedModels ?? '',
    limits: { ...like?.limits, rpm: Math.min(RPM, like?.limits.rpm || RPM) },
    countsCacheReads: like?.countsCacheReads ?? true,
    rates: like?.rates ?? [],
    expiresAt: new Date(Date.now() + LIFETIME_MS),
    playgroundSid: sid,
    budgetsOfId: like ? (like.budgetsOfId ?? like.id) : null,
  });
  const id: number = inserted.identifiers[0]?.['id'];
  return repository.findOneByOrFail({ id });
}
