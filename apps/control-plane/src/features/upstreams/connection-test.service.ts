import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  isSideReported,
  outputTokensOf,
  parseOutboundPolicy,
  promptTokensOf,
  readSecret,
  secretTexts,
  SecretUnreadable,
  type OutboundPolicy,
  type ReportedUsage,
  type UsageSide,
  type SecretBox,
  type UpstreamAuth,
} from '@tollgate/contracts';
import { PROVIDERS } from '@tollgate/protocols';
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
} from './connection-test.dto.ts';
import { Upstream } from './upstream.entity.ts';

const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 262_144;
const MESSAGE_CHARS_MAX = 500;

type Failure = NonNullable<ConnectionTest['error']>;

/** One small request to an upstream, as a node would send it, through the guarded client. The provider bills its tokens; no account is charged. */
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
    const result = await this.ask(row, target);
    await this.transactions.run(async (tx) =>
      this.activity.record(tx, caller, {
        action: 'upstream.test',
        target: { kind: 'upstream', id },
        after: { model: result.model, ok: result.ok, status: result.status },
      }),
    );
    return result;
  }

  private async targetOf(
    id: number,
    { model, kind }: ConnectionTestBody,
  ): Promise<{ model: string; kind: 'chat' | 'embedding' }> {
    if (model !== undefined) return { model, kind: kind ?? 'chat' };
    const routed = (await routedModels(this.upstreams.manager, id)).find(
      (one) => kind === undefined || one.kind === kind,
    );
    if (!routed) throw invalidField('model', MODEL_IS_NEEDED);
    return { model: routed.upstream_model, kind: routed.kind };
  }

  private async ask(
    row: Upstream,
    target: { model: string; kind: 'chat' | 'embedding' },
  ): Promise<ConnectionTest> {
    const startedAt = performance.now();
    const auth = this.authOf(row);
    const answer = await this.send(row, target, auth).catch(failureOf);
    const usage = 'kind' in answer ? null : usageOf(answer.text, row.protocol);
    const failure = 'kind' in answer ? answer : faultOf(answer, { auth, usage });
    return {
      upstream_id: row.id,
      ok: failure === null,
      model: target.model,
      status: 'kind' in answer ? null : answer.status,
      duration_ms: Math.round(performance.now() - startedAt),
      input_tokens: reportedTokens(usage, 'prompt'),
      output_tokens: reportedTokens(usage, 'output'),
      error: failure,
    };
  }

  private async send(
    row: Upstream,
    { model, kind }: { model: string; kind: 'chat' | 'embedding' },
    auth: UpstreamAuth | null,
  ): Promise<GuardedAnswer> {
    const provider = PROVIDERS[row.protocol];
    const probe = provider.probe(model, kind, { protocol: row.protocol, base_url: row.baseUrl });
    if (!probe) throw invalidField('model', NO_EMBEDDINGS);
    const url = new URL(`${row.baseUrl.replace(/\/+$/, '')}${probe.path}`);
    const body = JSON.stringify(probe.body);
    const request = {
      method: 'POST',
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...row.headers,
        'content-type': 'application/json',
        accept: 'application/json',
        ...probe.headers,
      },
      body: Buffer.from(body),
    } as const;
    const signed = auth ? await provider.sign(request, { auth, nowMs: Date.now() }) : {};
    return guardedRequest(url, {
      body,
      headers: { ...request.headers, ...signed },
      policy: this.policy,
      timeoutMs: Math.min(TIMEOUT_MS, row.totalTimeoutMs),
      bytesMax: ANSWER_BYTES_MAX,
    });
  }

  private authOf({ id, baseUrl, sealedApiKey }: Upstream): UpstreamAuth | null {
    if (sealedApiKey === null) return null;
    try {
      return readSecret(this.box.open(sealedApiKey, { upstreamId: id, baseUrl }));
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error;
      throw invalidField('api_key', KEY_UNREADABLE);
    }
  }
}

function failureOf(error: unknown): Failure {
  const { code, name } = Object(error);
  if (code === 'ADDRESS_REFUSED')
    return { kind: 'address_refused', message: 'The address is private or not allowed' };
  if (name === 'TimeoutError' || name === 'AbortError')
    return { kind: 'timeout', message: 'The upstream did not answer in time' };
  return {
    kind: 'unreachable',
    message: `The upstream cannot be reached (${code ?? 'no answer'})`,
  };
}

/** Returns what an answer says is wrong; null when it is one of this protocol. The upstream may repeat our key: it is left out (security S14). */
function faultOf(
  { status, text }: GuardedAnswer,
  { auth, usage }: { auth: UpstreamAuth | null; usage: ReportedUsage | null },
): Failure | null {
  if (status >= 200 && status < 300)
    return usage
      ? null
      : {
          kind: 'unreadable',
          message: 'The answer does not follow this protocol, or reports no usage',
        };
  const secrets = auth ? secretTexts(auth) : [];
  const shown = secrets.reduce((cut, secret) => cut.replaceAll(secret, '***'), text);
  return {
    kind: 'refused',
    message: shown.slice(0, MESSAGE_CHARS_MAX) || `The upstream answered ${status}`,
  };
}

function usageOf(text: string, protocol: Upstream['protocol']): ReportedUsage | null {
  const answer = parseJson(text);
  return typeof answer === 'object' && answer !== null && !Array.isArray(answer)
    ? PROVIDERS[protocol].readUsage({ ...answer })
    : null;
}

function reportedTokens(usage: ReportedUsage | null, side: UsageSide): number | null {
  if (!usage || !isSideReported(usage, side)) return null;
  return side === 'prompt' ? promptTokensOf(usage) : outputTokensOf(usage);
}
