import { auditBooks, describeFindings, isSound } from '@tollgate/audit';
import { createCustomer, startTollgate, subscribeWithKey, type Tollgate } from '@tollgate/harness';
import { Redis } from 'ioredis';
import { load, pinToFirst, pinToOthers, startHelper, type Helper } from './bench-process.ts';
import { CpuClock } from './cpu.ts';
import type { LoadOrder, LoadReport } from './load-order.ts';

const ACCOUNTS = 4;
const TOKENS = 1_000_000_000;
const LIMIT = 1_000_000_000;
export const MODELS = ['bench-whole', 'bench-events', 'bench-slow', 'bench-beat'];
const DRAIN_MS = 60_000;
const WARM_UP_SECONDS = 12;
export const NODE = 'node-1';

export interface BenchOptions {
  /** Is the root of the checkout whose build is measured. */
  checkout: string;
  upstreamUrl: string;
  /** Adds to the environment of the node alone. */
  env?: Readonly<Record<string, string>>;
  controlPlaneEnv?: Readonly<Record<string, string>>;
  /** Names a file for a CPU profile of the node. */
  profile?: string | undefined;
}

/** Runs an installation with the settings of production (64 shards, reports every 2 s), four accounts with all three windows, one node, one front door. */
export class BenchInstallation {
  readonly tollgate: Tollgate;
  readonly keys: readonly string[];
  readonly redis: Redis;

  private constructor(tollgate: Tollgate, keys: readonly string[]) {
    this.tollgate = tollgate;
    this.keys = keys;
    this.redis = new Redis(tollgate.redisUrl);
  }

  static async start({
    checkout,
    upstreamUrl,
    env,
    controlPlaneEnv,
    profile,
  }: BenchOptions): Promise<BenchInstallation> {
    const tollgate = await startTollgate({
      nodes: 1,
      frontDoor: true,
      checkout,
      env: { SHARDS: '64', REPORT_MS: '2000' },
      route: async (name) => {
        if (name === 'control-plane') return { ...controlPlaneEnv };
        return name === NODE ? { ...env, ...profilerFor(profile) } : {};
      },
    });
    const keys = await openAccounts(tollgate, upstreamUrl);
    const installation = new BenchInstallation(tollgate, keys);
    installation.#pin();
    return installation;
  }

  get nodeUrl(): string {
    return this.tollgate.nodeUrls[0] ?? '';
  }

  get frontDoorUrl(): string {
    return this.tollgate.frontDoorUrl ?? '';
  }

  pidOf(name: string): number {
    return this.tollgate.pidOf(name) ?? 0;
  }

  clock(...names: readonly string[]): CpuClock {
    return new CpuClock(...names.map((name) => this.pidOf(name)));
  }

  /** Everything a request costs this installation, and nothing of load and upstream. */
  clockOfAll(): CpuClock {
    return this.clock(NODE, 'control-plane', 'redis', 'postgres');
  }

  load(order: Partial<LoadOrder>): Promise<LoadReport> {
    return load({ url: this.nodeUrl, keys: this.keys, ...order });
  }

  async warmUp(): Promise<void> {
    for (const isStream of [false, true, false])
      await this.load({ isStream, seconds: WARM_UP_SECONDS / 3 });
  }

  /** Starts a fresh process with cold code; a change of its environment stays. */
  async restartNode(env: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
    await this.tollgate.restart(NODE, { env });
    this.#pin();
  }

  /** Restarts the control plane; `file` gets a CPU profile of it. */
  async restartControlPlane(file: string): Promise<void> {
    await this.tollgate.restart('control-plane', { env: profilerFor(file) });
    this.#pin();
  }

  /** Proves that the books hold everything that was answered; throws when they do not close. */
  async audit(): Promise<void> {
    const findings = await auditBooks(this.tollgate, { drainMs: DRAIN_MS });
    if (!isSound(findings))
      throw new Error(`The books do not close.\n${describeFindings(findings)}`);
  }

  async stop(): Promise<void> {
    this.redis.disconnect();
    await this.tollgate.stop();
  }

  #pin(): void {
    for (const name of this.tollgate.processNames) {
      const pid = this.tollgate.pidOf(name);
      if (pid !== undefined)
        (name === NODE || name === 'front-door' ? pinToFirst : pinToOthers)(pid);
    }
  }
}

function profilerFor(file: string | undefined): Record<string, string> {
  if (file === undefined) return {};
  return {
    NODE_OPTIONS: `--import=${import.meta.dirname}/profiler.mjs`,
    BENCH_PROFILE: file,
  };
}

async function openAccounts(tollgate: Tollgate, upstreamUrl: string): Promise<string[]> {
  const { admin } = tollgate;
  const upstream_id = await admin.createUpstream({
    name: 'quick',
    protocol: 'openai',
    base_url: `${upstreamUrl}/v1`,
  });
  const modelIds: number[] = [];
  for (const name of MODELS) {
    const price = { price_per_million: '0.01' };
    const model_id = await admin.createModel({ name, price, is_on_shelf: true });
    await admin.createRoute({ model_id, upstream_id, upstream_model: name });
    modelIds.push(model_id);
  }
  const keys: string[] = [];
  for (let account = 0; account < ACCOUNTS; account += 1) {
    const customer = await createCustomer(tollgate, { amount: '100000' });
    const key = { rpm: LIMIT, rph: LIMIT, rpd: LIMIT };
    keys.push(await subscribeWithKey(customer, { modelIds, tokens: TOKENS, key }));
  }
  await admin.syncAll();
  return keys;
}

/** Holds the quick upstream and the bare proxy that all installations of a run share. */
export interface Yardstick {
  upstream: Helper;
  bare: Helper;
  stop: () => void;
}

export async function startYardstick(): Promise<Yardstick> {
  const upstream = await startHelper('quick-upstream.ts');
  pinToOthers(upstream.pid);
  const bare = await startBare(upstream.url);
  return { upstream, bare, stop: () => [bare, upstream].forEach(({ stop }) => stop()) };
}

export async function startBare(upstreamUrl: string, protocol = 'h1'): Promise<Helper> {
  const bare = await startHelper('bare-proxy.ts', [upstreamUrl, protocol]);
  pinToFirst(bare.pid);
  return bare;
}
