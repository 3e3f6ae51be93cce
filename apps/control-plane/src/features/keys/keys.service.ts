import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { issueApiKey } from '@tollgate/contracts';
import { In, IsNull, Not, Repository, type EntityManager } from 'typeorm';
import { lockUntilEnd } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency, type IdempotentRequest } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { CeilingsService } from '../ceilings/ceilings.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { isModelAllowed } from './allowed-models.ts';
import { ApiKeyRow } from './api-key.entity.ts';
import { deleteKeysOfAccount } from './delete-keys.sql.ts';
import { columnsOf, toKeyResponse } from './key-columns.ts';
import type {
  CreatedKeyResponse,
  CreateKey,
  KeyResponse,
  RotateKey,
  UpdateKey,
} from './keys.dto.ts';

/** Describes a key with the hash by which admission knows it. */
export interface FoundKey {
  response: KeyResponse;
  keyHash: string;
}

@Injectable()
export class KeysService {
  constructor(
    @InjectRepository(ApiKeyRow) private readonly keys: Repository<ApiKeyRow>,
    private readonly scope: AccountScope,
    private readonly transactions: Transactions,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
    private readonly ceilings: CeilingsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async find(caller: Caller, id: number): Promise<FoundKey> {
    const [found] = await this.findVisible(caller, [id]);
    if (!found) throw noSuch('key', id);
    return found;
  }

  /** Returns those of the given keys that the caller may see. */
  async findVisible(caller: Caller, ids: readonly number[]): Promise<FoundKey[]> {
    const rows = await this.keys.findBy({ id: In([...ids]) });
    return rows
      .filter((row) => this.isVisible(caller, row))
      .map((row) => ({ response: toKeyResponse(row), keyHash: row.keyHash }));
  }

  /** Returns a key of exactly this account. */
  async findOwn(userId: number, id: number): Promise<ApiKeyRow> {
    const row = await this.keys.findOneBy({ id, userId, status: Not('deleted') });
    if (!row) throw noSuch('key', id, 'key_id');
    return row;
  }

  /** Counts the enabled keys of an account that may call a model. */
  async countAllowing(userId: number, model: string): Promise<number> {
    const rows = await this.keys.findBy({ userId, status: 'enabled', playgroundSid: IsNull() });
    return rows.filter((row) => isModelAllowed(row.allowedModels, model)).length;
  }

  /** Creates a key. Only this answer and that of `rotate` ever contain the key itself. */
  async create(
    caller: Caller,
    body: CreateKey,
    idempotencyKey: string | undefined,
  ): Promise<CreatedKeyResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    const columns = { ...columnsOf(body), name: body.name };
    const request = this.request(caller, 'POST /keys', { key: idempotencyKey, body });
    return this.idempotency.run(request, async (tx) => {
      await this.ceilings.refuseAbove(tx, userId, columns.limits);
      return this.issue(tx, caller, { userId, columns, action: 'key.create' });
    });
  }

  /** Creates a key with the same settings. The old key stays valid until the overlap ends, so that programs can change one after another. */
  async rotate(
    caller: Caller,
    id: number,
    { body, idempotencyKey }: { body: RotateKey; idempotencyKey: string | undefined },
  ): Promise<CreatedKeyResponse> {
    const request = this.request(caller, 'POST /keys/:id/rotate', {
      key: idempotencyKey,
      body: { id, ...body },
    });
    return this.idempotency.run(request, async (tx) => {
      const old = await this.lock(tx, caller, id);
      refuseTemporary(old);
      const { expiresAt, userId } = old;
      const columns = { ...likeOf(old), replacesId: id, budgetsOfId: old.budgetsOfId ?? id };
      const created = await this.issue(tx, caller, { userId, columns, action: 'key.rotate' });
      const until = new Date(Date.now() + body.overlap_minutes * 60_000);
      const ends = expiresAt && expiresAt < until ? expiresAt : until;
      await tx
        .getRepository(ApiKeyRow)
        .save({ ...old, expiresAt: ends, revision: old.revision + 1 });
      await this.liveState.keyChanged(tx, id);
      return created;
    });
  }

  private request(
    { userId }: Caller,
    route: string,
    { key, body }: { key: string | undefined; body: object },
  ): IdempotentRequest {
    return { userId, route, key, body, status: 201, secrets: ['key'] };
  }

  private async issue(
    tx: EntityManager,
    caller: Caller,
    { userId, columns, action }: { userId: number; columns: Partial<ApiKeyRow>; action: string },
  ): Promise<CreatedKeyResponse> {
    await this.scope.keep(tx, userId);
    await this.ceilings.keep(tx);
    await this.keepBelowLimit(tx, userId);
    const { key, hash, prefix } = issueApiKey(userId);
    const repository = tx.getRepository(ApiKeyRow);
    const inserted = await repository.insert({
      ...columns,
      userId,
      keyHash: hash,
      keyPrefix: prefix,
    });
    const id: number = inserted.identifiers[0]?.['id'];
    const after = toKeyResponse(await repository.findOneByOrFail({ id }));
    await this.liveState.keyChanged(tx, id);
    this.activity.record(tx, caller, { action, target: { kind: 'key', id }, after });
    return { ...after, key };
  }

  /** An account creates one key at a time, so that of two simultaneous calls the second counts the key of the first. Temporary keys count, too. */
  async keepBelowLimit(tx: EntityManager, userId: number): Promise<void> {
    await lockUntilEnd(tx, [ADVISORY_LOCK_FAMILIES.keysOfAccount, userId]);
    const count = await tx.getRepository(ApiKeyRow).countBy({ userId, status: Not('deleted') });
    if (count >= this.config.KEYS_PER_ACCOUNT)
      throw new Refusal('limit_reached', {
        detail: `An account has at most ${this.config.KEYS_PER_ACCOUNT} keys; delete one first`,
      });
  }

  update(caller: Caller, id: number, body: UpdateKey): Promise<KeyResponse> {
    return this.changing(caller, id, 'key.update', ({ limits }) => columnsOf(body, limits));
  }

  /** Enables a key. The call is idempotent. */
  enable(caller: Caller, id: number): Promise<KeyResponse> {
    return this.changing(caller, id, 'key.enable', () => ({ status: 'enabled', drain: false }));
  }

  /** Disables a key. The call is idempotent. New requests are refused at once; running streams end at their next checkpoint unless `drain` is set. */
  disable(caller: Caller, id: number, drain: boolean): Promise<KeyResponse> {
    return this.changing(caller, id, 'key.disable', () => ({ status: 'disabled', drain }));
  }

  async delete(caller: Caller, id: number, drain: boolean): Promise<void> {
    await this.changing(caller, id, 'key.delete', () => ({
      status: 'deleted',
      drain,
      deletedAt: new Date(),
    }));
  }

  /** Deletes the keys of an account that is being deleted. Usage keeps the rows. */
  async deleteAll(tx: EntityManager, userId: number, drain: boolean): Promise<void> {
    await this.liveState.keysChanged(tx, await deleteKeysOfAccount(tx, userId, drain));
  }

  private changing(
    caller: Caller,
    id: number,
    action: string,
    change: (row: ApiKeyRow) => Partial<ApiKeyRow>,
  ): Promise<KeyResponse> {
    return this.transactions.run(async (tx) => {
      const row = await this.lock(tx, caller, id);
      const columns = change(row);
      if (columns.status !== 'deleted') refuseTemporary(row);
      refuseStale(caller, row);
      await this.ceilings.refuseAbove(tx, row.userId, columns.limits, row.limits);
      const before = toKeyResponse(row);
      const after = toKeyResponse(
        await tx.getRepository(ApiKeyRow).save({ ...row, ...columns, revision: row.revision + 1 }),
      );
      await this.liveState.keyChanged(tx, id);
      this.activity.record(tx, caller, { action, target: { kind: 'key', id }, before, after });
      return after;
    });
  }

  private async lock(tx: EntityManager, caller: Caller, id: number): Promise<ApiKeyRow> {
    const row = await tx
      .getRepository(ApiKeyRow)
      .findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
    if (!row || !this.isVisible(caller, row)) throw noSuch('key', id);
    return row;
  }

  private isVisible(caller: Caller, row: ApiKeyRow): boolean {
    return row.status !== 'deleted' && this.scope.isReachable(caller, row.userId);
  }
}

/** Refuses changes of temporary keys. They end with their session, and nothing extends their time or their rights. */
function refuseTemporary(row: ApiKeyRow): void {
  if (row.playgroundSid !== null) throw new Refusal('temporary_key');
}

/** Returns the settings that a new key copies from another key. */
function likeOf({
  name,
  allowedModels,
  limits,
  countsCacheReads,
  rates,
  expiresAt,
  ipAllowlist,
}: ApiKeyRow): Partial<ApiKeyRow> {
  return { name, allowedModels, limits, countsCacheReads, rates, expiresAt, ipAllowlist };
}
