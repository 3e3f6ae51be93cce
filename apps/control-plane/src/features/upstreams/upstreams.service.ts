import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  checkBaseUrl,
  CREDENTIALS_MAX,
  hasEmbeddings,
  parseOutboundPolicy,
  secretOf,
  type OutboundPolicy,
  type UpstreamProtocol,
} from '@tollgate/contracts';
import { endpointsOf, stopsBillingOnClose } from '@tollgate/snapshot';
import { In, IsNull, Repository, type EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { refuseTwins } from '../../platform/http/refuse-twins.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { refusedField } from '../../platform/http/field-faults.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { routedModels } from '../snapshots/read-routing-rows.sql.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { authOf, refuseForeignAddress, refuseForeignAuth, sealedFor } from './given-auth.ts';
import { fieldsAfter, inserted, newColumns } from './upstream-columns.ts';
import { isPlainAndPublic } from './plain-http.ts';
import { withPreset } from './upstream-presets.ts';
import { UpstreamCredential } from './upstream-credential.entity.ts';
import { UpstreamSecrets } from './upstream-secrets.ts';
import { Upstream } from './upstream.entity.ts';
import {
  EMBEDDINGS_ARE_ROUTED,
  FURTHER_STAY,
  TOO_MANY_CREDENTIALS,
  type CreateUpstream,
  type UpdateUpstream,
  type UpstreamList,
  type UpstreamResponse,
} from './upstreams.dto.ts';

@Injectable()
export class UpstreamsService {
  private readonly outbound: OutboundPolicy;

  constructor(
    @InjectRepository(Upstream) private readonly upstreams: Repository<Upstream>,
    private readonly transactions: Transactions,
    private readonly snapshots: SnapshotsService,
    private readonly activity: ActivityService,
    private readonly secrets: UpstreamSecrets,
    private readonly idempotency: Idempotency,
    @Inject(CONFIG) config: Config,
  ) {
    this.outbound = parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE.join(','));
  }

  list(query: UpstreamList): Promise<Page<UpstreamResponse>> {
    const builder = this.upstreams
      .createQueryBuilder('upstream')
      .where('upstream.deletedAt IS NULL');
    if (query.protocol !== undefined)
      builder.andWhere('upstream.protocol = :protocol', { protocol: query.protocol });
    if (query.enabled !== undefined)
      builder.andWhere('upstream.enabled = :enabled', { enabled: query.enabled });
    return readPage(builder, query, {
      columns: { id: 'upstream.id', name: 'upstream.name', created_at: 'upstream.createdAt' },
      search: ['upstream.name', 'upstream.baseUrl'],
      map: toUpstreamResponse,
    });
  }

  /** Throws not_found, with `field` where the id was named. */
  async get(id: number, field?: string): Promise<UpstreamResponse> {
    const row = await this.upstreams.findOneBy({ id, deletedAt: IsNull() });
    if (!row) throw noSuch('upstream', id, field);
    return toUpstreamResponse(row);
  }

  /** Returns those of the given upstreams that are not deleted. */
  async findMany(ids: readonly number[]): Promise<UpstreamResponse[]> {
    const rows = await this.upstreams.findBy({ id: In([...ids]), deletedAt: IsNull() });
    return rows.map(toUpstreamResponse);
  }

  async create(
    caller: Caller,
    given: CreateUpstream,
    key: string | undefined,
  ): Promise<UpstreamResponse> {
    const body = withPreset(given);
    const auth = authOf(body);
    const columns = newColumns(body, await this.columnsOf(body), auth);
    const request = {
      userId: caller.userId,
      route: 'POST /upstreams',
      key,
      body: {
        ...body,
        api_key: undefined,
        auth: auth && this.secrets.fingerprint(secretOf(auth)),
      },
      status: 201,
    };
    const result = this.idempotency.run(request, async (tx) => {
      const row = await inserted(tx, columns, (place) =>
        auth ? this.secrets.box.seal(secretOf(auth), place) : null,
      );
      const { id } = row;
      const after = toUpstreamResponse(row);
      this.activity.record(tx, caller, {
        action: 'upstream.create',
        target: { kind: 'upstream', id },
        after,
      });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  async update(caller: Caller, id: number, body: UpdateUpstream): Promise<UpstreamResponse> {
    const columns = await this.columnsOf(body);
    return this.saving(async (tx) => {
      const row = await this.lock(tx, id);
      refuseStale(caller, row);
      const before = toUpstreamResponse(row);
      if (body.protocol !== undefined && !hasEmbeddings(body.protocol))
        await this.refuseWhileEmbedding(tx, id);
      const auth = authOf(body);
      const next = {
        ...row,
        fields: fieldsAfter(row, columns),
        ...columns,
        ...(auth !== undefined && { authType: auth?.type ?? 'api_key' }),
      };
      refuseForeignAuth(next.protocol, next.authType);
      refuseForeignAddress(next);
      if (next.baseUrl !== row.baseUrl || next.protocol !== row.protocol)
        await refuseWhileFurther(tx, id);
      const sealedApiKey = sealedFor(this.secrets.box, { next, row, auth });
      if (row.sealedApiKey === null && auth) await refuseOneTooMany(tx, id);
      const after = toUpstreamResponse(
        await tx.getRepository(Upstream).save({ ...next, sealedApiKey }),
      );
      this.activity.record(tx, caller, {
        action: 'upstream.update',
        target: { kind: 'upstream', id },
        before,
        after: { ...after, api_key_changed: auth !== undefined },
      });
      return after;
    });
  }

  async delete(caller: Caller, id: number): Promise<void> {
    await this.saving(async (tx) => {
      const row = await this.lock(tx, id);
      if ((await routedModels(tx, id)).length > 0)
        throw new Refusal('upstream_in_use', {
          detail: 'Delete or redirect the routes that lead to this upstream first',
        });
      // A deleted upstream keeps no secret.
      await tx
        .getRepository(Upstream)
        .update({ id }, { deletedAt: new Date(), sealedApiKey: null });
      await tx.getRepository(UpstreamCredential).delete({ upstreamId: id });
      this.activity.record(tx, caller, {
        action: 'upstream.delete',
        target: { kind: 'upstream', id },
        before: toUpstreamResponse(row),
      });
    });
  }

  /** Returns the upstream's protocol for routes, and keeps the row from deletion until `tx` ends. Returns undefined when there is none. */
  async protocolOf(tx: EntityManager, id: number): Promise<UpstreamProtocol | undefined> {
    const row = await tx
      .getRepository(Upstream)
      .findOne({ where: { id, deletedAt: IsNull() }, lock: { mode: 'pessimistic_read' } });
    return row?.protocol;
  }

  private async saving<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const result = this.transactions.run(async (tx) => {
      const value = await work(tx);
      this.snapshots.changed(tx);
      return value;
    });
    return refuseTwins(result, TAKEN);
  }

  private async lock(tx: EntityManager, id: number): Promise<Upstream> {
    const row = await tx
      .getRepository(Upstream)
      .findOne({ where: { id, deletedAt: IsNull() }, lock: { mode: 'pessimistic_write' } });
    if (!row) throw noSuch('upstream', id);
    return row;
  }

  private async refuseWhileEmbedding(tx: EntityManager, id: number): Promise<void> {
    if ((await routedModels(tx, id)).some(({ kind }) => kind === 'embedding'))
      throw invalidField('protocol', EMBEDDINGS_ARE_ROUTED);
  }

  /** Returns the given fields as columns; the secret is not among them. */
  private async columnsOf(body: UpdateUpstream): Promise<Partial<Upstream>> {
    const baseUrl =
      body.base_url === undefined ? undefined : await this.checkedBaseUrl(body.base_url);
    return {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.protocol !== undefined && { protocol: body.protocol }),
      ...(baseUrl !== undefined && { baseUrl }),
      ...(body.headers !== undefined && { headers: body.headers }),
      ...(body.connect_timeout_ms !== undefined && { connectTimeoutMs: body.connect_timeout_ms }),
      ...(body.first_token_timeout_ms !== undefined && {
        firstTokenTimeoutMs: body.first_token_timeout_ms,
      }),
      ...(body.idle_timeout_ms !== undefined && { idleTimeoutMs: body.idle_timeout_ms }),
      ...(body.total_timeout_ms !== undefined && { totalTimeoutMs: body.total_timeout_ms }),
      ...(body.max_concurrency !== undefined && { maxConcurrency: body.max_concurrency }),
      ...(body.stops_billing_on_close !== undefined && {
        stopsBillingOnClose: body.stops_billing_on_close,
      }),
      ...(body.endpoints !== undefined && { endpoints: body.endpoints }),
      ...(body.passes_file_ids !== undefined && { passesFileIds: body.passes_file_ids }),
      ...(body.fields !== undefined && { fields: body.fields }),
      ...(body.enabled !== undefined && { enabled: body.enabled }),
    };
  }

  private async checkedBaseUrl(text: string): Promise<string> {
    const verdict = checkBaseUrl(text, this.outbound);
    if (verdict.kind === 'refused') throw invalidField('base_url', verdict.reason);
    if (await isPlainAndPublic(verdict.baseUrl, this.outbound))
      throw invalidField('base_url', 'must use https: the host is outside UPSTREAM_ALLOW_PRIVATE');
    return verdict.baseUrl;
  }
}

async function refuseWhileFurther(tx: EntityManager, upstreamId: number): Promise<void> {
  if (await tx.getRepository(UpstreamCredential).existsBy({ upstreamId }))
    throw invalidField('base_url', FURTHER_STAY);
}

/** Refuses an own credential beside as many further ones as there may be. */
async function refuseOneTooMany(tx: EntityManager, upstreamId: number): Promise<void> {
  if ((await tx.getRepository(UpstreamCredential).countBy({ upstreamId })) >= CREDENTIALS_MAX)
    throw invalidField('api_key', TOO_MANY_CREDENTIALS);
}

const TAKEN = {
  upstreams_name: () =>
    new Refusal('upstream_name_taken', { errors: [refusedField('name', 'is taken')] }),
};

function toUpstreamResponse(row: Upstream): UpstreamResponse {
  return {
    id: row.id,
    name: row.name,
    protocol: row.protocol,
    base_url: row.baseUrl,
    has_api_key: row.sealedApiKey !== null,
    auth_type: row.authType,
    headers: row.headers,
    connect_timeout_ms: row.connectTimeoutMs,
    first_token_timeout_ms: row.firstTokenTimeoutMs,
    idle_timeout_ms: row.idleTimeoutMs,
    total_timeout_ms: row.totalTimeoutMs,
    max_concurrency: row.maxConcurrency,
    stops_billing_on_close: row.stopsBillingOnClose,
    closes_streams: stopsBillingOnClose({
      base_url: row.baseUrl,
      stops_billing_on_close: row.stopsBillingOnClose,
    }),
    endpoints: row.endpoints,
    has_endpoints: [
      ...endpointsOf({ protocol: row.protocol, base_url: row.baseUrl, endpoints: row.endpoints }),
    ],
    passes_file_ids: row.passesFileIds,
    fields: row.fields,
    enabled: row.enabled,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
