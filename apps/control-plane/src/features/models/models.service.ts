import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, Repository, type EntityManager } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { refuseTwins } from '../../platform/http/refuse-twins.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { refusedField } from '../../platform/http/field-faults.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { ModelRow } from './model.entity.ts';
import { ModelFamiliesService } from './model-families.service.ts';
import type { ModelFamily } from '../snapshots/model-families.ts';
import type {
  CreateModel,
  MarketList,
  MarketResponse,
  ModelList,
  ModelResponse,
  PriceTag,
  UpdateModel,
} from './models.dto.ts';
import { PricesInForce } from './prices-in-force.service.ts';
import { PricingService } from './pricing.service.ts';

@Injectable()
export class ModelsService {
  constructor(
    @InjectRepository(ModelRow) private readonly models: Repository<ModelRow>,
    private readonly transactions: Transactions,
    private readonly pricing: PricingService,
    private readonly pricesInForce: PricesInForce,
    private readonly snapshots: SnapshotsService,
    private readonly activity: ActivityService,
    private readonly families: ModelFamiliesService,
    private readonly idempotency: Idempotency,
  ) {}

  list(query: ModelList): Promise<Page<ModelResponse>> {
    const builder = this.models.createQueryBuilder('model').where('model.deletedAt IS NULL');
    if (query.kind !== undefined) builder.andWhere('model.kind = :kind', { kind: query.kind });
    if (query.is_on_shelf !== undefined)
      builder.andWhere('model.isOnShelf = :shelf', { shelf: query.is_on_shelf });
    return readPage(builder, query, {
      columns: SORT_COLUMNS,
      search: SEARCH_COLUMNS,
      map: toModelResponse,
    });
  }

  /** Lists the models to which a user can subscribe, with the price in force. */
  async market(query: MarketList): Promise<Page<MarketResponse>> {
    const builder = this.models
      .createQueryBuilder('model')
      .where('model.deletedAt IS NULL AND model.isOnShelf');
    if (query.kind !== undefined) builder.andWhere('model.kind = :kind', { kind: query.kind });
    const page = await readPage(builder, query, {
      columns: SORT_COLUMNS,
      search: SEARCH_COLUMNS,
      map: (row) => row,
    });
    const prices = await this.pricing.pricesInForce(page.data.map((row) => row.id));
    return {
      ...page,
      data: page.data.map((row) => toMarketResponse(row, prices.get(row.id) ?? null)),
    };
  }

  async get(id: number): Promise<ModelResponse> {
    const row = await this.models.findOneBy({ id, deletedAt: IsNull() });
    if (!row) throw noSuch('model', id);
    return toModelResponse(row);
  }

  create(caller: Caller, body: CreateModel, key: string | undefined): Promise<ModelResponse> {
    const request = { userId: caller.userId, route: 'POST /models', key, body, status: 201 };
    const result = this.idempotency.run(request, async (tx) => {
      const repository = tx.getRepository(ModelRow);
      const columns = {
        displayName: body.name,
        isOnShelf: false,
        ...columnsOfFamily(await this.families.of(tx, body.name)),
        ...columnsOf(body),
      };
      const inserted = await repository.insert(columns);
      const id: number = inserted.identifiers[0]?.['id'];
      if (body.price) await this.pricing.setFirst(tx, caller, { modelId: id, price: body.price });
      if (body.is_on_shelf) await this.putOnShelf(tx, id);
      const after = toModelResponse(await repository.findOneByOrFail({ id }));
      this.activity.record(tx, caller, {
        action: 'model.create',
        target: { kind: 'model', id },
        after,
      });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  /** Returns those of the given models that are not deleted. */
  async findMany(ids: readonly number[]): Promise<ModelResponse[]> {
    const rows = await this.models.findBy({ id: In([...ids]), deletedAt: IsNull() });
    return rows.map(toModelResponse);
  }

  /** Returns models by those of the given names and aliases that they have, in lower case: two names that differ in case alone are one. */
  async findNamed(names: readonly string[]): Promise<Map<string, ModelResponse>> {
    const asked = names.map((name) => name.toLowerCase());
    const rows = await this.models
      .createQueryBuilder('model')
      .where('model.deletedAt IS NULL')
      .andWhere(
        '(lower(model.name) = ANY(:asked) OR EXISTS (SELECT FROM unnest(model.aliases) AS alias WHERE lower(alias) = ANY(:asked)))',
        { asked },
      )
      .getMany();
    return new Map(
      rows.flatMap((row) =>
        [row.name, ...row.aliases].map((name) => [name.toLowerCase(), toModelResponse(row)]),
      ),
    );
  }

  update(caller: Caller, id: number, body: UpdateModel): Promise<ModelResponse> {
    return this.changing(caller, id, 'model.update', columnsOf(body));
  }

  /** Puts a model on the shelf. The call is idempotent. Throws model_not_priced, because models on the shelf are for sale. */
  enable(caller: Caller, id: number): Promise<ModelResponse> {
    return this.changing(caller, id, 'model.enable', { isOnShelf: true }, (tx) =>
      this.refuseUnpriced(tx, id),
    );
  }

  disable(caller: Caller, id: number): Promise<ModelResponse> {
    return this.changing(caller, id, 'model.disable', { isOnShelf: false });
  }

  /**
   * Removes the row from the catalogue. Its name is free again, and its usage and subscriptions keep it. The caller has locked the row, closed its
   * subscriptions and deleted its routes.
   */
  async markDeleted(tx: EntityManager, caller: Caller, row: ModelRow): Promise<void> {
    await tx
      .getRepository(ModelRow)
      .update({ id: row.id }, { deletedAt: new Date(), isOnShelf: false });
    this.activity.record(tx, caller, {
      action: 'model.delete',
      target: { kind: 'model', id: row.id },
      before: toModelResponse(row),
    });
    this.snapshots.changed(tx);
  }

  /** Locks the model. Throws not_found, with `field` where the id was named. The lock prevents subscriptions while the model is changed or removed. */
  async lock(
    tx: EntityManager,
    id: number,
    { mode, field }: { mode: 'pessimistic_write' | 'pessimistic_read'; field?: string },
  ): Promise<ModelRow> {
    const row = await tx
      .getRepository(ModelRow)
      .findOne({ where: { id, deletedAt: IsNull() }, lock: { mode } });
    if (!row) throw noSuch('model', id, field);
    return row;
  }

  /** Includes deleted models, because history still shows their names. */
  async namesOf(
    ids: readonly number[],
    tx: EntityManager = this.models.manager,
  ): Promise<Map<number, { name: string; isOnShelf: boolean }>> {
    const rows = await tx.getRepository(ModelRow).find({
      where: { id: In([...new Set(ids)]) },
      select: { id: true, name: true, isOnShelf: true },
    });
    return new Map(rows.map((row) => [row.id, { name: row.name, isOnShelf: row.isOnShelf }]));
  }

  private changing(
    caller: Caller,
    id: number,
    action: string,
    columns: Partial<ModelRow>,
    check?: (tx: EntityManager) => Promise<void>,
  ): Promise<ModelResponse> {
    const result = this.transactions.run(async (tx) => {
      const row = await this.lock(tx, id, { mode: 'pessimistic_write' });
      await check?.(tx);
      refuseStale(caller, row);
      const before = toModelResponse(row);
      const after = toModelResponse(await tx.getRepository(ModelRow).save({ ...row, ...columns }));
      this.activity.record(tx, caller, { action, target: { kind: 'model', id }, before, after });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  private async putOnShelf(tx: EntityManager, id: number): Promise<void> {
    await this.refuseUnpriced(tx, id);
    await tx.getRepository(ModelRow).update({ id }, { isOnShelf: true });
  }

  private async refuseUnpriced(tx: EntityManager, id: number): Promise<void> {
    if (!(await this.pricesInForce.isPriced(tx, id))) throw new Refusal('model_not_priced');
  }
}

const SORT_COLUMNS = { id: 'model.id', name: 'model.name', created_at: 'model.createdAt' };
const SEARCH_COLUMNS = ['model.name', 'model.displayName', 'model.ownedBy'];

const nameTaken = () =>
  new Refusal('model_name_taken', {
    errors: [refusedField('name', 'another model has this name or alias, in any case')],
  });
const TAKEN = { models_name: nameTaken, models_alias: nameTaken };

function columnsOf(body: UpdateModel): Partial<ModelRow> {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.aliases !== undefined && { aliases: body.aliases }),
    ...(body.display_name !== undefined && { displayName: body.display_name }),
    ...(body.kind !== undefined && { kind: body.kind }),
    ...(body.owned_by !== undefined && { ownedBy: body.owned_by }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.context_window !== undefined && { contextWindow: body.context_window }),
    ...(body.max_output_tokens !== undefined && { maxOutputTokens: body.max_output_tokens }),
    ...(body.reads_more_than_sent !== undefined && {
      readsMoreThanSent: body.reads_more_than_sent,
    }),
    ...(body.caches_prompts !== undefined && { cachesPrompts: body.caches_prompts }),
    ...(body.default_output_tokens !== undefined && {
      defaultOutputTokens: body.default_output_tokens,
    }),
    ...(body.unbounded_input_tokens !== undefined && {
      unboundedInputTokens: body.unbounded_input_tokens,
    }),
    ...(body.failover !== undefined && { failover: body.failover }),
  };
}

/** Returns the family's values, for fields that the creator leaves out. */
function columnsOfFamily(family: ModelFamily | null): Partial<ModelRow> {
  if (!family) return {};
  return {
    kind: family.kind,
    ownedBy: family.owned_by,
    contextWindow: family.context_window,
    maxOutputTokens: family.max_output_tokens,
    defaultOutputTokens: family.default_output_tokens,
  };
}

/** Returns the fields of a model that everyone sees. */
function toPublicFields(row: ModelRow) {
  return {
    id: row.id,
    name: row.name,
    aliases: row.aliases,
    display_name: row.displayName,
    kind: row.kind,
    owned_by: row.ownedBy,
    description: row.description,
    context_window: row.contextWindow,
    max_output_tokens: row.maxOutputTokens,
  };
}

function toModelResponse(row: ModelRow): ModelResponse {
  return {
    ...toPublicFields(row),
    default_output_tokens: row.defaultOutputTokens,
    unbounded_input_tokens: row.unboundedInputTokens,
    is_on_shelf: row.isOnShelf,
    reads_more_than_sent: row.readsMoreThanSent,
    caches_prompts: row.cachesPrompts,
    failover: row.failover,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

function toMarketResponse(row: ModelRow, price: PriceTag | null): MarketResponse {
  return { ...toPublicFields(row), price };
}
