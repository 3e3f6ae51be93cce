import { randomBytes } from 'node:crypto';
import { closeClient } from '@tollgate/audit';
import { startTollgate, type Tollgate, until } from '@tollgate/harness';
import { KeyGate } from './key-gate.ts';
import { closeBooks, setScene, SteadyLoad } from './steady-load.ts';

export const NODES = ['node-1', 'node-2'];
export const PLANES = ['control-plane', 'control-plane-2'];
export const FIRST_UPSTREAM_KEY = 'upstream-key-of-before';
const CLIENTS = 4;

export function drawSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Runs an installation whose clients send through the front door all the time, while its secrets are changed on one process after the other. */
export class RotationStage {
  readonly tollgate: Tollgate;
  readonly gate: KeyGate;
  readonly load: SteadyLoad;

  private constructor(tollgate: Tollgate, gate: KeyGate, load: SteadyLoad) {
    this.tollgate = tollgate;
    this.gate = gate;
    this.load = load;
  }

  static async set(): Promise<RotationStage> {
    const tollgate = await startTollgate({
      nodes: 2,
      controlPlanes: 2,
      frontDoor: true,
      env: { DRAIN_NOTICE_MS: '2000', HEALTH_CHECK_MS: '250' },
    });
    const gate = new KeyGate(tollgate.upstreamUrl);
    gate.allow(FIRST_UPSTREAM_KEY);
    const scene = await setScene({ ...tollgate, upstreamUrl: await gate.open() });
    await giveUpstreamsKey(tollgate, FIRST_UPSTREAM_KEY);
    const origins = [tollgate.frontDoorUrl ?? ''];
    const stage = new RotationStage(
      tollgate,
      gate,
      new SteadyLoad(origins, scene, { clients: CLIENTS }),
    );
    await stage.served(50);
    return stage;
  }

  /** Returns what ended otherwise than its client wanted. */
  failed() {
    return this.load.records.filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up');
  }

  async served(more: number): Promise<void> {
    const wanted = this.load.count('completed') + more;
    await until(`${more} more requests`, () => this.load.count('completed') >= wanted, 60_000);
  }

  /** Changes the environment of these processes, one after the other. */
  async roll(names: readonly string[], env: Record<string, string | undefined>): Promise<void> {
    for (const name of names) {
      await this.tollgate.restart(name, { env });
      await this.untilSentTo(name);
    }
    await this.served(10);
  }

  /** Waits until the front door has seen the node ready: taken down before that, the other node would leave none. */
  private async untilSentTo(name: string): Promise<void> {
    const url = this.tollgate.nodeUrls[NODES.indexOf(name)];
    if (url === undefined) return;
    const isSeen = (): boolean =>
      this.tollgate
        .logs('front-door')
        .split('\n')
        .findLast((line) => line.includes(`${url} is`))
        ?.endsWith('is ready') ?? false;
    await until(`${name} in the front door`, isSeen, 30_000);
  }

  giveUpstreamsKey(apiKey: string): Promise<void> {
    return giveUpstreamsKey(this.tollgate, apiKey);
  }

  async closeBooks(): Promise<void> {
    await closeBooks(this.tollgate, await this.load.stop(), { wereKilled: false });
  }

  async end(): Promise<void> {
    await this.load.stop();
    closeClient();
    this.gate.close();
    await this.tollgate.stop();
  }
}

async function giveUpstreamsKey({ admin }: Tollgate, apiKey: string): Promise<void> {
  for (const { id } of await admin.list('/upstreams'))
    await admin.call('PUT', `/upstreams/${String(id)}`, { api_key: apiKey });
  await admin.syncAll();
}
