import { Injectable } from '@nestjs/common';
import { CREDENTIALS_MAX, OWN_CREDENTIAL, secretOf, type UpstreamAuth } from '@tollgate/contracts';
import { IsNull, type EntityManager } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { refusedField } from '../../platform/http/field-faults.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { refuseTwins } from '../../platform/http/refuse-twins.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import {
  KEY_IS_NEEDED,
  NOT_OF_OWN,
  type CreateCredential,
  type CredentialResponse,
  type UpdateCredential,
  type UpstreamDetail,
} from './credentials.dto.ts';
import { authOf, placeOf, refuseForeignAuth } from './given-auth.ts';
import { UpstreamCredential } from './upstream-credential.entity.ts';
import { UpstreamSecrets } from './upstream-secrets.ts';
import { Upstream } from './upstream.entity.ts';
import { TOO_MANY_CREDENTIALS } from './upstreams.dto.ts';

/** A later credential begins with these settings. */
const WITHOUT_OWN = {
  sealedApiKey: null,
  credentialWeight: 1,
  credentialRpm: null,
  credentialTpm: null,
  credentialEnabled: true,
} as const;

/** The credentials of an upstream, its own among them. Each is changed by itself. */
@Injectable()
export class CredentialsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly snapshots: SnapshotsService,
    private readonly activity: ActivityService,
    private readonly secrets: UpstreamSecrets,
    private readonly registry: NodeRegistry,
    private readonly idempotency: Idempotency,
  ) {}

  /** Returns the credentials of an upstream and what the nodes say of each. */
  async statesOf(upstreamId: number): Promise<UpstreamDetail['credentials']> {
    const { nodes } = await this.registry.lookAgain();
    const reports = [...nodes.keys()]
      .flatMap((name) => this.registry.watch.workersOf(name))
      .filter(({ isLive }) => isLive)
      .map(({ report }) => report);
    const resting = reports.flatMap(({ name, worker, upstreams }) =>
      upstreams
        .filter(({ id }) => id === upstreamId)
        .flatMap(({ credentials = [] }) =>
          credentials.map(({ id, ...state }) => ({
            id,
            state: { ...state, node: `${name}:${worker}` },
          })),
        ),
    );
    return this.transactions.run(async (tx) => {
      const upstream = await upstreamOf(tx, upstreamId);
      return (await allOf(tx, upstream)).map((each) => ({
        ...each,
        resting: resting.filter(({ id }) => id === each.id).map(({ state }) => state),
      }));
    });
  }

  async create(
    caller: Caller,
    upstreamId: number,
    body: CreateCredential,
    key: string | undefined,
  ): Promise<CredentialResponse> {
    const auth = authOf(body);
    if (!auth) throw invalidField('api_key', KEY_IS_NEEDED);
    const request = {
      userId: caller.userId,
      route: `POST /upstreams/${upstreamId}/credentials`,
      key,
      body: { ...body, api_key: undefined, auth: this.secrets.fingerprint(secretOf(auth)) },
      status: 201,
    };
    const result = this.idempotency.run(request, async (tx) => {
      const after = await this.add(tx, { upstreamId, body, auth });
      this.note(tx, caller, 'create', { after });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  private async add(
    tx: EntityManager,
    { upstreamId, body, auth }: { upstreamId: number; body: CreateCredential; auth: UpstreamAuth },
  ): Promise<CredentialResponse> {
    const upstream = await upstreamOf(tx, upstreamId, true);
    refuseForeignAuth(upstream.protocol, auth.type);
    if ((await allOf(tx, upstream)).length >= CREDENTIALS_MAX)
      throw invalidField('name', TOO_MANY_CREDENTIALS);
    const repository = tx.getRepository(UpstreamCredential);
    const unsealed = { ...columnsOf(body), upstreamId, authType: auth.type, sealed: '' };
    const { identifiers } = await repository.insert(unsealed);
    const id: number = identifiers[0]?.['id'];
    // The row comes first: the secret is sealed to its id.
    await repository.update({ id }, { sealed: sealedAt(this.secrets, upstream, { auth, id }) });
    return responseOf(await repository.findOneByOrFail({ id }));
  }

  async update(
    caller: Caller,
    { upstreamId, id }: { upstreamId: number; id: number },
    body: UpdateCredential,
  ): Promise<CredentialResponse> {
    const auth = authOf(body) ?? undefined;
    return this.saving(async (tx) => {
      const upstream = await upstreamOf(tx, upstreamId, true);
      if (auth) refuseForeignAuth(upstream.protocol, auth.type);
      const before = (await allOf(tx, upstream)).find((each) => each.id === id);
      if (!before) throw noSuch('credential', id);
      refuseStale(caller, { id, updatedAt: new Date(before.updated_at) });
      const sealed = auth ? sealedAt(this.secrets, upstream, { auth, id }) : null;
      const { name, weight, rpm, tpm, enabled } = body;
      if (id === OWN_CREDENTIAL) {
        if (name !== undefined) throw invalidField('name', NOT_OF_OWN);
        await tx.getRepository(Upstream).save({
          ...upstream,
          ...(auth && { sealedApiKey: sealed, authType: auth.type }),
          ...(weight !== undefined && { credentialWeight: weight }),
          ...(rpm !== undefined && { credentialRpm: rpm }),
          ...(tpm !== undefined && { credentialTpm: tpm }),
          ...(enabled !== undefined && { credentialEnabled: enabled }),
        });
      } else
        await tx.getRepository(UpstreamCredential).save({
          id,
          ...columnsOf(body),
          ...(auth && sealed !== null && { sealed, authType: auth.type }),
        });
      const rows = await allOf(tx, await upstreamOf(tx, upstreamId));
      const after = rows.find((each) => each.id === id) ?? before;
      this.note(tx, caller, 'update', {
        before,
        after: { ...after, api_key_changed: auth !== undefined },
      });
      return after;
    });
  }

  async delete(
    caller: Caller,
    { upstreamId, id }: { upstreamId: number; id: number },
  ): Promise<void> {
    await this.saving(async (tx) => {
      const upstream = await upstreamOf(tx, upstreamId, true);
      const before = (await allOf(tx, upstream)).find((each) => each.id === id);
      if (!before) throw noSuch('credential', id);
      if (id === OWN_CREDENTIAL)
        await tx.getRepository(Upstream).save({ ...upstream, ...WITHOUT_OWN });
      else await tx.getRepository(UpstreamCredential).delete({ id });
      this.note(tx, caller, 'delete', { before });
    });
  }

  private note(
    tx: EntityManager,
    caller: Caller,
    act: 'create' | 'update' | 'delete',
    change: {
      before?: CredentialResponse;
      after?: CredentialResponse & { api_key_changed?: boolean };
    },
  ): void {
    const id = (change.after ?? change.before)?.upstream_id ?? 0;
    this.activity.record(tx, caller, {
      action: `upstream.credential_${act}`,
      target: { kind: 'upstream', id },
      ...change,
    });
  }

  private saving<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const result = this.transactions.run(async (tx) => {
      const value = await work(tx);
      this.snapshots.changed(tx);
      return value;
    });
    return refuseTwins(result, TAKEN);
  }
}

const TAKEN = {
  upstream_credentials_name: () =>
    new Refusal('credential_name_taken', { errors: [refusedField('name', 'is taken')] }),
};

async function upstreamOf(tx: EntityManager, id: number, isLocked = false): Promise<Upstream> {
  const row = await tx.getRepository(Upstream).findOne({
    where: { id, deletedAt: IsNull() },
    ...(isLocked && { lock: { mode: 'pessimistic_write' } }),
  });
  if (!row) throw noSuch('upstream', id);
  return row;
}

/** Returns all credentials of an upstream, its own first. */
async function allOf(tx: EntityManager, upstream: Upstream): Promise<CredentialResponse[]> {
  const further = await tx
    .getRepository(UpstreamCredential)
    .find({ where: { upstreamId: upstream.id }, order: { id: 'ASC' } });
  const own: CredentialResponse = {
    id: OWN_CREDENTIAL,
    upstream_id: upstream.id,
    name: null,
    auth_type: upstream.authType,
    weight: upstream.credentialWeight,
    rpm: upstream.credentialRpm,
    tpm: upstream.credentialTpm,
    enabled: upstream.credentialEnabled,
    updated_at: upstream.updatedAt.toISOString(),
  };
  return [...(upstream.sealedApiKey === null ? [] : [own]), ...further.map(responseOf)];
}

function columnsOf({ name, weight, rpm, tpm, enabled }: UpdateCredential) {
  return {
    ...(name !== undefined && { name }),
    ...(weight !== undefined && { weight }),
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(enabled !== undefined && { enabled }),
  };
}

function responseOf(row: UpstreamCredential): CredentialResponse {
  return {
    id: row.id,
    upstream_id: row.upstreamId,
    name: row.name,
    auth_type: row.authType,
    weight: row.weight,
    rpm: row.rpm,
    tpm: row.tpm,
    enabled: row.enabled,
    updated_at: row.updatedAt.toISOString(),
  };
}

function sealedAt(
  secrets: UpstreamSecrets,
  upstream: Upstream,
  { auth, id }: { auth: UpstreamAuth; id: number },
): string {
  return secrets.box.seal(secretOf(auth), { ...placeOf(upstream), credentialId: id });
}
