import {
  hashCredential,
  holdSigner,
  promptTokensOf,
  type FleetMessage,
  type FundsHint,
} from '@tollgate/contracts';
import {
  nodeAddress,
  type Acknowledgements,
  type MeteringStore,
  type RedisConnection,
} from '@tollgate/keyspace';
import { chargeOf } from '@tollgate/metering';
import type { OpenHold } from '../../../apps/proxy-node/src/journal/open-hold.ts';
import type { RechargeWaits } from '../../../apps/proxy-node/src/pipeline/admission/recharge-waits.ts';
import type { RecorderOptions } from '../../../apps/proxy-node/src/usage/recorder-options.ts';
import { RequestRecorder } from '../../../apps/proxy-node/src/usage/request-recorder.ts';
import type { SimulatedDisk } from './disk.ts';
import { CREDENTIAL } from './credential.ts';
import { Funds } from './funds.ts';
import { COMMAND_TIMEOUT_MS, Link } from './link.ts';
import { SimulatedProcess } from './process.ts';
import { redisClient } from './redis/redis-client.ts';
import { addJob } from './take-job.ts';
import type { Ask, NodeWorld } from './node-parts.ts';
import { RunningRequest } from './running-request.ts';
import { Violation } from './violation.ts';

export interface Machine {
  disk: SimulatedDisk;
  wallErrorMs: number;
}

const LEASE_MS = 60_000;
/** Limits the wait of requests for a purchase. */
const WAIT_MS = 2_000;
const WAITERS_MAX = 12;
const POP_EVERY_MS = 250;
/** A node tries its journal again ten times a second. */
const REFUSED_MS_MAX = 1_000;
const SILENT = Object.fromEntries(
  ['debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]),
);

/** Is one worker of a proxy node: its usage code as it is shipped, on the simulated machine. */
export class Node {
  readonly process: SimulatedProcess;
  readonly link: Link;
  readonly address: string;
  readonly #world: NodeWorld;
  readonly #client: MeteringStore;
  readonly #waits: RechargeWaits;
  readonly #funds: Funds;
  readonly #disk: SimulatedDisk;
  #recorder: RequestRecorder | null = null;

  constructor(
    { node, worker }: { node: string; worker: number },
    machine: Machine,
    world: NodeWorld,
  ) {
    const { scheduler, random, redis } = world;
    this.#world = world;
    this.#disk = machine.disk;
    this.address = nodeAddress(node, worker);
    this.process = new SimulatedProcess(this.address, {
      scheduler,
      wallErrorMs: () => machine.wallErrorMs,
    });
    this.link = new Link(this.process, {
      ...{ server: redis, scheduler, random },
      timeoutMs: COMMAND_TIMEOUT_MS,
    });
    this.#client = redisClient(redis, this.link, {
      signHold: holdSigner(hashCredential(CREDENTIAL)),
    }).metering;
    const hint = (need: FundsHint): void => {
      world.truth.needed(need);
      this.#recorder?.refusedForFunds(need);
    };
    const timers = this.process.timersOf(random);
    this.#waits = world.parts.waits({ waitMs: WAIT_MS, waitersMax: WAITERS_MAX, hint, timers });
    this.#funds = new Funds({
      ...{ client: this.#client, waits: this.#waits, hint, world, process: this.process },
      waitMs: WAIT_MS,
    });
    const options = this.#options({ node, worker }, machine);
    this.process.after(
      0,
      () =>
        void RequestRecorder.open(options).then(
          (recorder) => {
            this.#recorder = recorder;
          },
          // The journal is another's, or the disk takes no file: its keeper starts the process again.
          () => this.kill(),
        ),
      'starts',
    );
  }

  get isServing(): boolean {
    return this.process.isAlive && this.#recorder !== null && this.#recorder.refusal() === null;
  }

  /** Nothing is on its way any more. */
  get isIdle(): boolean {
    return (
      this.#recorder !== null &&
      this.#recorder.state.open === 0 &&
      this.#recorder.state.unacknowledged === 0 &&
      this.#waits.size === 0
    );
  }

  get state(): RequestRecorder['state'] | null {
    return this.#recorder?.state ?? null;
  }

  /** Receives a message of the control plane, if it arrives. */
  receive(message: FleetMessage): void {
    if (this.link.status !== 'ready') return;
    if (message.kind === 'shard_filled') this.#recorder?.shardFilled(message.shard, message.epoch);
    if (message.kind === 'subscription_changed')
      this.#waits.changed({ accountId: message.account_id, modelId: message.model_id });
  }

  kill(): void {
    this.process.kill();
    this.link.serverLost();
  }

  async serve(ask: Ask): Promise<void> {
    this.#checkJournal();
    const { random } = this.#world;
    const startedAt = { unixMs: this.process.unixMs(), monotonicMs: this.process.monotonicMs() };
    const prompt = chargeOf(ask.prompt, ask.price);
    const bound = chargeOf({ ...ask.prompt, output: ask.output }, ask.price);
    const slice = Math.max(1, Math.ceil((bound - prompt) / random.integer(1, 4)));
    const rid = random.uuidV7(startedAt.unixMs);
    this.#world.truth.asked.add(rid);
    const reply = await this.#funds.ask({
      rid,
      accountId: ask.accountId,
      keyHash: ask.keyHash,
      modelId: ask.modelId,
      modelName: 'model',
      priceVersionId: ask.price.id,
      wantTokens: ask.isStream ? prompt + slice : bound,
      minTokens: prompt + 1,
      isWhole: !ask.isStream,
      addressHex: '',
      concurrencyMax: 0,
      leaseMs: LEASE_MS,
      node: this.address,
    });
    if (reply?.kind !== 'admitted' || !this.#recorder) return;
    const { keyId, subscriptionId, generation, epoch, grantedTokens } = reply;
    const hold: OpenHold = {
      rid,
      accountId: ask.accountId,
      keyHash: ask.keyHash,
      keyId,
      modelId: ask.modelId,
      subscriptionId,
      generation,
      epoch,
      price: ask.price,
      grantedTokens,
      sliceTokens: slice,
      boundTokens: bound,
      ...(ask.price.tiers && { promptTokens: promptTokensOf(ask.prompt) }),
      isStream: ask.isStream,
      startedAtMs: startedAt.unixMs,
      protocol: 'chat',
    };
    new RunningRequest(hold, { ask, startedAt, node: this, world: this.#world }).run(
      this.#recorder.open(hold),
    );
  }

  /** A node whose journal takes nothing serves nothing. */
  #checkJournal(): void {
    const sinceMs = this.#disk.refusingSinceMs.get(this.process) ?? Infinity;
    if (this.process.monotonicMs() - sinceMs > REFUSED_MS_MAX)
      this.#world.broken(new Violation(`${this.address} serves while its disk takes no journal`));
  }

  #options({ node, worker }: { node: string; worker: number }, { disk }: Machine): RecorderOptions {
    const { process, link } = this;
    const { random, redis, parts, peers, post, shards } = this.#world;
    const timers = process.timersOf(random);
    const queue = {
      add: (job: Parameters<RecorderOptions['queue']['add']>[0]) =>
        link.call('queue', () => redis.onQueue(addJob(job))),
      close: () => Promise.resolve(),
    };
    return {
      dataDir: '/data',
      node,
      worker,
      shards,
      leaseMs: LEASE_MS,
      metering: this.#client,
      redis: link as unknown as RedisConnection,
      acknowledgements: this.#acknowledgements(),
      blocking: link as unknown as RedisConnection,
      queue,
      controlPlaneUrl: 'http://control-plane',
      credential: CREDENTIAL,
      peers: () => Promise.resolve(peers()),
      log: SILENT as unknown as RecorderOptions['log'],
      now: process.unixMs,
      monotonicNow: process.monotonicMs,
      random: () => random.next(),
      timers,
      disk: parts.disk(disk.for(process)),
      tryLock: parts.tryLock((folder) => disk.tryLock(folder, process)),
      postJournal: post(process),
    };
  }

  /** Reads the list in Redis, without its MAC. */
  #acknowledgements(): Pick<Acknowledgements, 'consume'> {
    const { process, link, address } = this;
    const { redis } = this.#world;
    const pop = (): string[] =>
      redis.onQueue((queue) => {
        const lists = queue.acknowledgements.get(address) ?? [];
        const others = [...queue.acknowledgements].filter(([node]) => node !== address);
        queue.acknowledgements = new Map(others);
        return [...lists];
      });
    return {
      consume: (_address, { onAcknowledged }) =>
        new Promise(() => {
          const again = (): void =>
            void process.after(POP_EVERY_MS, () => {
              link
                .call('pop', pop)
                .then((texts) => {
                  const list = texts.flatMap((text) => JSON.parse(text));
                  if (list.length > 0) void onAcknowledged(list);
                })
                .then(again, again);
            });
          again();
        }),
    };
  }
}
