import type { ServerResponse } from 'node:http';
import type { SnapshotModel } from '@tollgate/snapshot';
import { localUpstreams, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import { COMPLETION, json } from './pipeline-under-test.ts';

/** Is a prompt that its upstream fails on, as a caller may find one. */
export const PROVOKING = 'fail, please';
/** The gateway's own requests have this text; no caller here sends it. */
const PROBE = 'Say ok.';

const refusal = { error: { message: 'no', type: 'server_error' } };

/** Lists the ways in which a provider fails after a connection was made. */
export const FAILURES: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  '500': (response) => json(response, refusal, 500),
  '404': (response) => json(response, refusal, 404),
  '401': (response) => json(response, refusal, 401),
  'an unreadable answer': (response) => response.writeHead(200).end('<html>no</html>'),
  '429 with Retry-After 3600': (response) =>
    json(response, refusal, 429, { 'retry-after': '3600' }),
};

const SILENT = { first_token_timeout_ms: 1_000, total_timeout_ms: 1_000 };

/** Starts a node, upstreams that fail on demand, and accounts that ask. */
export class TenantsApart {
  readonly #node: NodeUnderTest;
  readonly #upstreams = localUpstreams();
  #lastAccount = 1_000;

  private constructor(node: NodeUnderTest) {
    this.#node = node;
  }

  static async start(): Promise<TenantsApart> {
    return new TenantsApart(await startNodeUnderTest());
  }

  async stop(): Promise<void> {
    await this.#node.stop();
    await this.#upstreams.closeUpstreams();
  }

  get node(): NodeUnderTest {
    return this.#node;
  }

  /** Adds a model. `fails` says whether the upstream fails on a request with this body. */
  async model(
    fail: (response: ServerResponse) => unknown,
    {
      fails,
      upstreams = 1,
      isSilent = false,
    }: { fails: (body: string) => boolean; upstreams?: number; isSilent?: boolean },
  ): Promise<{ model: SnapshotModel; upstreams: LocalUpstream[] }> {
    const started = await Promise.all(
      Array.from({ length: upstreams }, () =>
        this.#upstreams.upstreamOf((response, body) =>
          fails(body) ? fail(response) : json(response, COMPLETION),
        ),
      ),
    );
    const overrides = isSilent ? SILENT : {};
    const model = await this.#node.addModel(started.map(({ baseUrl }) => ({ baseUrl, overrides })));
    return { model, upstreams: started };
  }

  /** Creates accounts and returns their keys. */
  accounts(models: SnapshotModel[], count: number): Promise<string[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        this.#lastAccount += 1;
        return (await this.#node.addAccount(this.#lastAccount, models)).key;
      }),
    );
  }

  /** Returns the status that the account gets. */
  async ask(key: string, { name }: SnapshotModel, content = 'hello'): Promise<number> {
    const response = await this.#node.post(
      '/v1/chat/completions',
      { model: name, messages: [{ role: 'user', content }] },
      { authorization: `Bearer ${key}` },
    );
    await response.arrayBuffer();
    return response.status;
  }
}

/** Counts the requests of callers, and of the gateway itself, that an upstream has seen. */
export function seenBy(upstreams: readonly LocalUpstream[]): { asked: number; probed: number } {
  const bodies = upstreams.flatMap(({ requests }) => requests.map(({ body }) => body));
  const probed = bodies.filter((body) => body.includes(PROBE)).length;
  return { asked: bodies.length - probed, probed };
}
