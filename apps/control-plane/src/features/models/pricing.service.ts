import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  mapFields,
  mapSetWeights,
  WEIGHT_FIELDS,
  weightFields,
  type WeightField,
} from '@tollgate/contracts';
import { formatAmount } from '@tollgate/money';
import { IsNull, Repository, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { ModelRow } from './model.entity.ts';
import {
  NOT_PAST,
  type FirstPrice,
  type PriceList,
  type PriceResponse,
  type PriceTag,
  type SetPrice,
} from './models.dto.ts';
import { PriceVersionRow, type PriceWeightValues } from './price-version.entity.ts';
import { AFTER_LOCKS, IN_FORCE, inForceAt } from './prices-in-force.service.ts';

/** Clocks of callers differ slightly. A price further in the past would change charges that callers have already seen. */
const PAST_TOLERANCE_MS = 60_000;

/** `effectiveAt` may be a function that returns SQL; without it the price is effective from the beginning of the transaction. */
type NewVersion = Omit<Partial<PriceVersionRow>, 'effectiveAt'> & {
  effectiveAt?: Date | (() => string);
};

@Injectable()
export class PricingService {
  constructor(
    @InjectRepository(PriceVersionRow) private readonly prices: Repository<PriceVersionRow>,
    private readonly snapshots: SnapshotsService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  list(query: PriceList): Promise<Page<PriceResponse>> {
    const builder = this.prices
      .createQueryBuilder('price')
      .innerJoin(ModelRow, 'model', 'model.id = price.modelId AND model.deletedAt IS NULL');
    if (query.model_id !== undefined)
      builder.andWhere('price.modelId = :modelId', { modelId: query.model_id });
    if (query.in_force !== undefined)
      builder.andWhere(query.in_force ? IN_FORCE : `NOT (${IN_FORCE})`);
    const columns = {
      id: 'price.id',
      model_id: 'price.modelId',
      effective_at: 'price.effectiveAt',
    };
    return readPage(builder, query, {
      columns,
      search: ['model.name'],
      map: (row) => this.toResponse(row),
    });
  }

  set(caller: Caller, body: SetPrice, key: string | undefined): Promise<PriceResponse> {
    const { userId } = caller;
    const request = { userId, route: 'POST /models/pricing', key, body, status: 201 };
    return this.idempotency.run(request, async (tx) => {
      const model = await tx.getRepository(ModelRow).findOne({
        where: { id: body.model_id, deletedAt: IsNull() },
        // The prices of a model are set one after another.
        lock: { mode: 'pessimistic_write' },
      });
      if (!model) throw noSuch('model', body.model_id, 'model_id');
      if (body.replaces !== undefined) await this.refuseStale(tx, model.id, body.replaces);
      const moment = effectiveAt(body.effective_at);
      return this.add(tx, caller, { ...columnsOf(body), ...moment, modelId: model.id });
    });
  }

  private async refuseStale(
    tx: EntityManager,
    modelId: number,
    replaces: number | null,
  ): Promise<void> {
    const inForce = await pricesOf(tx, modelId).andWhere(inForceAt(AFTER_LOCKS)).getOne();
    if ((inForce?.id ?? null) !== replaces) throw new Refusal('precondition_failed');
  }

  /** Sets the price with which a model is created, effective at once. */
  async setFirst(
    tx: EntityManager,
    caller: Caller,
    { modelId, price }: { modelId: number; price: FirstPrice },
  ): Promise<void> {
    await this.add(tx, caller, { ...columnsOf(price), modelId });
  }

  async pricesInForce(modelIds: readonly number[]): Promise<Map<number, PriceTag>> {
    const rows = await this.prices
      .createQueryBuilder('price')
      .where('price.modelId = ANY(:modelIds)', { modelIds })
      .andWhere(IN_FORCE)
      .getMany();
    return new Map(rows.map((row) => [row.modelId, toTag(row, this.config.CURRENCY)]));
  }

  /** Reads any version, also one no longer in force, for receipts. */
  async find(id: number): Promise<PriceResponse | null> {
    const row = await this.prices.findOneBy({ id });
    return row && this.toResponse(row);
  }

  private async add(
    tx: EntityManager,
    caller: Caller,
    columns: NewVersion & { modelId: number },
  ): Promise<PriceResponse> {
    const repository = tx.getRepository(PriceVersionRow);
    const inserted = await repository.insert({ ...columns, createdBy: caller.userId });
    const id: number = inserted.identifiers[0]?.['id'];
    const after = this.toResponse(await repository.findOneByOrFail({ id }));
    const target = { kind: 'model', id: columns.modelId };
    this.activity.record(tx, caller, { action: 'model.price', target, after });
    this.snapshots.changed(tx);
    return after;
  }

  private toResponse(row: PriceVersionRow): PriceResponse {
    return {
      id: row.id,
      model_id: row.modelId,
      ...toTag(row, this.config.CURRENCY),
      effective_at: row.effectiveAt.toISOString(),
      created_at: row.createdAt.toISOString(),
    };
  }
}

function pricesOf(tx: EntityManager, modelId: number): SelectQueryBuilder<PriceVersionRow> {
  return tx
    .getRepository(PriceVersionRow)
    .createQueryBuilder('price')
    .where('price.modelId = :modelId', { modelId });
}

function toTag(row: PriceVersionRow, currency: string): PriceTag {
  return {
    price_per_million: formatAmount(row.pricePerMillion),
    currency,
    ...weightTexts(row.weights),
    multipliers: mapValues(row.multipliers, (value) => formatAmount(BigInt(value))),
    tiers: row.tiers.map(({ weights, ...tier }) => ({
      ...tier,
      weights: mapSetWeights(weights, (weight) => formatAmount(BigInt(weight))),
    })),
    free: row.isFree,
  };
}

function weightTexts(weights: PriceWeightValues): Pick<PriceTag, WeightField> {
  return mapFields(WEIGHT_FIELDS, weights, (weight) =>
    weight === null ? null : formatAmount(BigInt(weight)),
  ) as Pick<PriceTag, WeightField>;
}

/** A missing weight is 1; an optional class has none then, so that its parent's weight applies. */
function weightsOf(body: Pick<FirstPrice, WeightField>): PriceWeightValues {
  const absent: PriceWeightValues = weightFields(1_000_000, null);
  return mapFields(WEIGHT_FIELDS, body, (weight, name) =>
    weight === undefined || weight === null ? absent[name] : Number(weight),
  ) as PriceWeightValues;
}

/** Replaces a time at or before now by the database's own clock, which decides which price is in force. Call it after the model is locked. */
function effectiveAt(text: string | undefined): Pick<NewVersion, 'effectiveAt'> {
  if (text === undefined) return { effectiveAt: () => AFTER_LOCKS };
  const now = Date.now();
  const asked = Date.parse(text);
  if (asked < now - PAST_TOLERANCE_MS) throw invalidField('effective_at', NOT_PAST);
  if (asked <= now) return { effectiveAt: () => AFTER_LOCKS };
  // The time may have passed by the database's clock; sales since then already had a price.
  const moment = new Date(asked).toISOString();
  return { effectiveAt: () => `greatest('${moment}'::timestamptz, ${AFTER_LOCKS})` };
}

function columnsOf(body: FirstPrice): Partial<PriceVersionRow> {
  return {
    pricePerMillion: body.price_per_million,
    isFree: body.free ?? false,
    weights: weightsOf(body),
    multipliers: mapValues(body.multipliers ?? {}, Number),
    tiers: (body.tiers ?? []).map(({ weights, ...tier }) => ({
      ...tier,
      weights: mapSetWeights(weights, Number),
    })),
  };
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
