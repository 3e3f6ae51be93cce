import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository, type EntityManager } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { afterCommit, Transactions } from '../../platform/database/transactions.ts';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { addEntry, readPeriods } from './budget-periods.sql.ts';
import { BudgetRow } from './budget.entity.ts';
import {
  AMOUNT_RANGE,
  BUDGETS_PER_SCOPE_MAX,
  eachOf,
  NO_FALLBACK_OF_PURCHASES,
  readAmount,
  type BudgetList,
  type BudgetResponse,
  type BudgetUnit,
  type CreateBudget,
  type Grant,
  type Reset,
  type UpdateBudget,
} from './budgets.dto.ts';
import { admittedIn, countedFrom, periodStarts } from './calendar.ts';
import { toBudgetResponse } from './to-budget-response.ts';

/** The current period and the next 32 are known, so that a control plane can be away for a month without effect. */
export const PERIODS_AHEAD = 33;

interface Asked<Body> {
  body: Body;
  /** Is the idempotency key of the call. */
  key: string | undefined;
}

interface Change {
  id: number;
  action: string;
  change: (row: BudgetRow) => Partial<BudgetRow> | Promise<Partial<BudgetRow>>;
}

/** Is published after a budget of purchases changed: auto-recharge of the account may buy again. */
export class PurchasesAllowed {
  constructor(readonly userId: number) {}
}

/** Creates, changes and removes budgets. Each change reaches Redis with the live record of its key or account. */
@Injectable()
export class BudgetsService {
  constructor(
    @InjectRepository(BudgetRow) private readonly rows: Repository<BudgetRow>,
    private readonly scope: AccountScope,
    private readonly transactions: Transactions,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
    private readonly events: DomainEvents,
  ) {}

  async list(caller: Caller, query: BudgetList): Promise<Page<BudgetResponse>> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const builder = this.rows.createQueryBuilder('budget').where('budget.deletedAt IS NULL');
    if (userId !== undefined) builder.andWhere('budget.userId = :userId', { userId });
    if (query.key_id !== undefined) {
      const key = await this.liveState.keyOfBudgets(this.rows.manager, query.key_id);
      builder.andWhere('budget.keyId = :keyId', { keyId: key?.id ?? query.key_id });
    }
    return readPage(builder, query, {
      columns: { id: 'budget.id', created_at: 'budget.createdAt' },
      search: ['budget.models'],
      map: toBudgetResponse,
    });
  }

  async find(caller: Caller, id: number): Promise<BudgetRow> {
    const [row] = await this.findVisible(caller, [id]);
    if (!row) throw noSuch('budget', id);
    return row;
  }

  /** Returns those of the given budgets that the caller may see. */
  async findVisible(caller: Caller, ids: readonly number[]): Promise<BudgetRow[]> {
    const rows = await this.rows.findBy(ids.map((id) => ({ id, deletedAt: IsNull() })));
    return rows.filter((row) => this.scope.isReachable(caller, row.userId));
  }

  async create(
    caller: Caller,
    body: CreateBudget,
    key: string | undefined,
  ): Promise<BudgetResponse> {
    const amount = amountOf(body.unit, body.amount);
    const request = { userId: caller.userId, route: 'POST /budgets', key, body, status: 201 };
    return this.idempotency.run({ ...request, secrets: [] }, async (tx) => {
      const of = await this.ownerOf(tx, caller, body.scope);
      // The call locks the live record, so that of two simultaneous calls the second counts the budget of the first.
      await this.liveState.budgetsChanged(tx, of);
      await refuseAboveLimit(tx, of);
      const now = new Date();
      const row = await tx.getRepository(BudgetRow).save({
        ...of,
        of: body.of,
        each: eachOf(body.scope),
        requiresValue: body.require,
        unit: body.unit,
        amount,
        period: body.period,
        windowMinutes: body.window_minutes ?? null,
        timeZone: body.time_zone,
        models: body.models,
        action: body.action,
        notifyAt: body.notify_at.toSorted((a, b) => a - b),
        isOfAdministrator: caller.role === 'admin',
        starts: periodStarts(
          { period: body.period, timeZone: body.time_zone },
          { atMs: now.getTime(), count: PERIODS_AHEAD },
        ),
        definedAt: now,
        updatedAt: now,
        deletedAt: null,
      });
      const after = toBudgetResponse(row);
      const target = { kind: 'budget', id: row.id };
      this.activity.record(tx, caller, { action: 'budget.create', target, after });
      return after;
    });
  }

  update(caller: Caller, id: number, body: UpdateBudget): Promise<BudgetResponse> {
    const change = (row: BudgetRow): Partial<BudgetRow> => {
      refuseStale(caller, row);
      if (row.of === 'purchases' && body.action === 'fallback')
        throw invalidField('action', NO_FALLBACK_OF_PURCHASES);
      return {
        amount: body.amount === undefined ? row.amount : amountOf(row.unit, body.amount),
        models: body.models ?? row.models,
        definedAt: (body.models ?? row.models) === row.models ? row.definedAt : new Date(),
        action: body.action ?? row.action,
        notifyAt: body.notify_at?.toSorted((a, b) => a - b) ?? row.notifyAt,
      };
    };
    return this.transactions.run((tx) =>
      this.changeIn(tx, caller, { id, action: 'budget.update', change }),
    );
  }

  async delete(caller: Caller, id: number): Promise<void> {
    const change = (): Partial<BudgetRow> => ({ deletedAt: new Date() });
    await this.transactions.run((tx) =>
      this.changeIn(tx, caller, { id, action: 'budget.delete', change }),
    );
  }

  /** Raises the limit of the current period. */
  grant(caller: Caller, id: number, { body, key }: Asked<Grant>): Promise<BudgetResponse> {
    return this.entering(caller, id, { kind: 'grant', body, key }, async (row, tx) => {
      const amount = amountOf(row.unit, body.amount);
      const startedAt = admittedIn(row, secondsNow());
      const periods = await readPeriods(tx, [{ budgetId: id, countedFrom: countedNow(row) }]);
      const limit = row.amount + (periods.get(id)?.granted ?? 0) + amount;
      if (!Number.isSafeInteger(limit)) throw invalidField('amount', AMOUNT_RANGE);
      return { startedAt, amount, change: {} };
    });
  }

  /** Starts the current period again. Its use and its running requests stay with the period that ends. */
  reset(caller: Caller, id: number, { body, key }: Asked<Reset>): Promise<BudgetResponse> {
    return this.entering(caller, id, { kind: 'reset', body, key }, async (row, tx) => {
      const before = admittedIn(row, secondsNow());
      const periods = await readPeriods(tx, [{ budgetId: id, countedFrom: countedNow(row) }]);
      const startedAt = Math.max(secondsNow(), before + 1);
      const starts = [startedAt, ...row.starts.filter((start) => start > startedAt)];
      return { startedAt, amount: periods.get(id)?.used ?? 0, change: { starts } };
    });
  }

  /** Writes one line of the budget's ledger and its effect. A repeated call with the same key writes it once. */
  private entering(
    caller: Caller,
    id: number,
    { kind, body, key }: Asked<Grant | Reset> & { kind: 'grant' | 'reset' },
    entryOf: (
      row: BudgetRow,
      tx: EntityManager,
    ) => Promise<{ startedAt: number; amount: number; change: Partial<BudgetRow> }>,
  ): Promise<BudgetResponse> {
    const route = `POST /budgets/:id/${kind}`;
    const request = { userId: caller.userId, route, key, body: { id, ...body }, status: 200 };
    return this.idempotency.run({ ...request, secrets: [] }, (tx) =>
      this.changeIn(tx, caller, {
        id,
        action: `budget.${kind}`,
        change: async (row) => {
          const { startedAt, amount, change } = await entryOf(row, tx);
          const { reason } = body;
          const authorId = caller.userId;
          await addEntry(tx, { budgetId: id, startedAt, kind, amount, reason, authorId });
          return change;
        },
      }),
    );
  }

  private async changeIn(
    tx: EntityManager,
    caller: Caller,
    { id, action, change }: Change,
  ): Promise<BudgetResponse> {
    const repository = tx.getRepository(BudgetRow);
    const row = await repository.findOne({
      where: { id, deletedAt: IsNull() },
      lock: { mode: 'pessimistic_write' },
    });
    if (!row || !this.scope.isReachable(caller, row.userId)) throw noSuch('budget', id);
    if (row.isOfAdministrator && caller.role !== 'admin')
      throw new Refusal('forbidden', { detail: 'An administrator set this budget' });
    const before = toBudgetResponse(row);
    const changed = { ...row, ...(await change(row)), updatedAt: new Date() };
    const after = toBudgetResponse(await repository.save(changed));
    await this.liveState.budgetsChanged(tx, row);
    if (row.of === 'purchases')
      afterCommit(tx, () => this.events.publish(new PurchasesAllowed(row.userId)));
    this.activity.record(tx, caller, { action, target: { kind: 'budget', id }, before, after });
    return after;
  }

  private async ownerOf(
    tx: EntityManager,
    caller: Caller,
    named: CreateBudget['scope'],
  ): Promise<{ userId: number; keyId: number | null }> {
    const scope = ownerOf(named);
    if ('user_id' in scope)
      return { userId: await this.scope.resolve(caller, scope.user_id, tx), keyId: null };
    const key = await this.liveState.keyOfBudgets(tx, scope.key_id);
    if (!key || !this.scope.isReachable(caller, key.userId))
      throw noSuch('key', scope.key_id, 'scope.key_id');
    return { userId: key.userId, keyId: key.id };
  }
}

function ownerOf(scope: CreateBudget['scope']) {
  if ('sessions_of' in scope) return scope.sessions_of;
  return 'end_users_of' in scope ? scope.end_users_of : scope;
}

/** Returns what `countedFrom` says for now. */
export function countedNow(row: Pick<BudgetRow, 'starts' | 'windowMinutes'>): number {
  return countedFrom(row, secondsNow());
}

async function refuseAboveLimit(
  tx: EntityManager,
  { userId, keyId }: Pick<BudgetRow, 'userId' | 'keyId'>,
): Promise<void> {
  const where = { userId, keyId: keyId ?? IsNull(), deletedAt: IsNull() };
  if ((await tx.getRepository(BudgetRow).countBy(where)) >= BUDGETS_PER_SCOPE_MAX)
    throw new Refusal('limit_reached', {
      detail: `A key, and an account, has at most ${BUDGETS_PER_SCOPE_MAX} budgets; delete one first`,
    });
}

function secondsNow(): number {
  return Math.floor(Date.now() / 1_000);
}

function amountOf(unit: BudgetUnit, written: string | number): number {
  const amount = readAmount(unit, written);
  if (amount === undefined) throw invalidField('amount', AMOUNT_RANGE);
  return amount;
}
