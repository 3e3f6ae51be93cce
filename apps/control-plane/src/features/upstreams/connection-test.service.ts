import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  isTokenAuth,
  parseOutboundPolicy,
  readSecret,
  SecretUnreadable,
  type OutboundPolicy,
  type SecretBox,
  type UpstreamAuth,
} from '@tollgate/contracts';
import { PROVIDERS, readToken, tokenRequest } from '@tollgate/protocols';
import { IsNull, Repository } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { parseJson } from '../../platform/parse-json.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { invalidField, noSuch } from '../../platform/http/refusal.ts';
import { guardedRequest, type GuardedAnswer } from '../../platform/outbound/guarded-request.ts';
import { SECRET_BOX } from '../../platform/secrets/secrets.module.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { routedModels } from '../snapshots/read-routing-rows.sql.ts';
import {
  MODEL_IS_NEEDED,
  KEY_UNREADABLE,
  NO_EMBEDDINGS,
  type ConnectionTest,
  type ConnectionTestBody,
  type OfferedModels,
} from './connection-test.dto.ts';
import {
  failureOf,
  judged,
  reportedTokens,
  usageOf,
  withoutSecrets,
  type Asked,
  type Credential,
  type Failure,
} from './tested-answer.ts';
import { withCredential, type Tested } from './tested-upstream.ts';
import { Upstream } from './upstream.entity.ts';

const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 262_144;

/** Limits the provider's list of models, which is long where it has descriptions and prices. */
const LIST_BYTES_MAX = 8 * 1024 * 1024;
/** Is the answer of a server that has no list of models. */
const NO_SUCH_PATH = 404;
const NAMES_MAX = 2_000;
const NAME_CHARS_MAX = 256;

interface Target {
  readonly model: string;
  readonly kind: 'chat' | 'embedding';
}

interface Request {
  readonly method: 'GET' | 'POST';
  /** Is appended to the upstream's base_url. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
}

const NOTHING: Asked = { status: null, error: null, usage: null, names: [] };

/** Sends one small request to an upstream and reads its list of models, as a node would, through the guarded client. The provider bills the tokens; no account is charged. */
@Injectable()
export class ConnectionTestService {
  private readonly policy: OutboundPolicy;

  constructor(
    @InjectRepository(Upstream) private readonly upstreams: Repository<Upstream>,
    @Inject(SECRET_BOX) private readonly box: SecretBox,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    @Inject(CONFIG) config: Config,
  ) {
    this.policy = parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE.join(','));
  }

  async run(caller: Caller, id: number, body: ConnectionTestBody): Promise<ConnectionTest> {
    const row = await this.upstreams.findOneBy({ id, deletedAt: IsNull() });
    if (!row) throw noSuch('upstream', id);
    const target = await this.targetOf(id, body);
    if (!target && !PROVIDERS[row.protocol].models) throw invalidField('model', MODEL_IS_NEEDED);
    const result = await this.ask(
      await withCredential(this.upstreams, row, body.credential_id),
      target,
    );
    await this.transactions.run(async (tx) =>
      this.activity.record(tx, caller, {
        action: 'upstream.test',
        target: { kind: 'upstream', id },
        after: {
          model: result.model,
          ok: result.ok,
          status: result.status,
          ...(body.credential_id !== undefined && { credential_id: body.credential_id }),
        },
      }),
    );
    return result;
  }

  /** Asks the provider for its list of models, which costs nothing there. */
  async offered(id: number): Promise<OfferedModels> {
    const row = await this.upstreams.findOneBy({ id, deletedAt: IsNull() });
    if (!row) throw noSuch('upstream', id);
    const credential = await this.credentialOf(await withCredential(this.upstreams, row));
    const listed =
      credential && 'error' in credential ? credential : await this.listModels(row, credential);
    const { error = null, names = [] } = listed ?? {};
    return { upstream_id: id, models: listed && error === null ? names : null, error };
  }

  /** Returns the model of which the test asks an answer; null where the test can only ask for the list of models. */
  private async targetOf(id: number, { model, kind }: ConnectionTestBody): Promise<Target | null> {
    if (model !== undefined) return { model, kind: kind ?? 'chat' };
    const routed = (await routedModels(this.upstreams.manager, id)).find(
      (one) => kind === undefined || one.kind === kind,
    );
    return routed ? { model: routed.upstream_model, kind: routed.kind } : null;
  }

  private async ask(row: Tested, target: Target | null): Promise<ConnectionTest> {
    const startedAt = performance.now();
    const credential = await this.credentialOf(row);
    const [probed, listed] =
      credential && 'error' in credential
        ? [credential, null]
        : await Promise.all([
            target && this.probe(row, credential, target),
            this.listModels(row, credential),
          ]);
    if (!target && listed?.status === NO_SUCH_PATH) throw invalidField('model', MODEL_IS_NEEDED);
    const { status = null, error = null, usage = null } = probed ?? listed ?? {};
    return {
      upstream_id: row.id,
      ok: error === null,
      model: target?.model ?? null,
      status,
      duration_ms: Math.round(performance.now() - startedAt),
      input_tokens: reportedTokens(usage, 'prompt'),
      output_tokens: reportedTokens(usage, 'output'),
      models: listed?.error === null ? listed.names : null,
      error,
    };
  }

  private async probe(
    row: Upstream,
    credential: Credential | null,
    { model, kind }: Target,
  ): Promise<Asked> {
    const speech = { protocol: row.protocol, base_url: row.baseUrl };
    const probe = PROVIDERS[row.protocol].probe(model, kind, speech);
    if (!probe) throw invalidField('model', NO_EMBEDDINGS);
    const { path, headers } = probe;
    const request = { method: 'POST', path, headers, body: JSON.stringify(probe.body) } as const;
    const answer = await this.send(row, credential, { ...request, bytesMax: ANSWER_BYTES_MAX });
    const usage = 'text' in answer ? usageOf(answer.text, row.protocol) : null;
    return { ...judged(answer, { credential, isRead: usage !== null }), usage, names: [] };
  }

  /** Returns null where the provider has no list. */
  private async listModels(row: Upstream, credential: Credential | null): Promise<Asked | null> {
    const { models } = PROVIDERS[row.protocol];
    if (!models) return null;
    const { path, headers } = models;
    const request = { method: 'GET', path, headers, body: '' } as const;
    const answer = await this.send(row, credential, { ...request, bytesMax: LIST_BYTES_MAX });
    const names = 'text' in answer ? models.names(parseJson(answer.text)) : [];
    const isRead = names.length > 0;
    return {
      ...judged(answer, { credential, isRead }),
      usage: null,
      names: withoutSecrets(names, credential)
        .filter(({ length }) => length <= NAME_CHARS_MAX)
        .slice(0, NAMES_MAX),
    };
  }

  /** Sends a request as a node would. */
  private async send(
    row: Upstream,
    credential: Credential | null,
    { method, path, headers, body, bytesMax }: Request,
  ): Promise<GuardedAnswer | Failure> {
    const url = new URL(`${row.baseUrl.replace(/\/+$/, '')}${path}`);
    const request = {
      method,
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...row.headers,
        ...(body !== '' && { 'content-type': 'application/json' }),
        accept: 'application/json',
        ...headers,
      },
      body: body === '' ? null : Buffer.from(body),
    };
    const signed = credential
      ? await PROVIDERS[row.protocol].sign(request, { ...credential, nowMs: Date.now() })
      : {};
    return guardedRequest(url, {
      method,
      body,
      headers: { ...request.headers, ...signed },
      policy: this.policy,
      timeoutMs: Math.min(TIMEOUT_MS, row.totalTimeoutMs),
      bytesMax,
    }).catch(failureOf);
  }

  /** Fetches the token of an identity as a node would; returns the reason where there is none. */
  private async credentialOf(row: Tested): Promise<Credential | Asked | null> {
    const auth = this.authOf(row);
    if (auth === null || !isTokenAuth(auth)) return auth && { auth, token: null };
    const request = tokenRequest(auth, { baseUrl: row.baseUrl, nowMs: Date.now() });
    const answer = await guardedRequest(new URL(request.url), {
      body: request.body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      policy: this.policy,
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    }).catch(failureOf);
    if ('kind' in answer) return { ...NOTHING, error: answer };
    const read = readToken(auth, request, { status: answer.status, body: answer.text });
    if ('refusal' in read) return { ...NOTHING, error: { kind: 'refused', message: read.refusal } };
    return { auth, token: read.token };
  }

  private authOf({ id, credentialId, baseUrl, sealedApiKey }: Tested): UpstreamAuth | null {
    if (sealedApiKey === null) return null;
    try {
      return readSecret(
        this.box.open(sealedApiKey, {
          ...{ upstreamId: id, baseUrl },
          ...(credentialId !== undefined && { credentialId }),
        }),
      );
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error;
      throw invalidField('api_key', KEY_UNREADABLE);
    }
  }
}
