import { JOURNAL_HEADERS } from '@tollgate/contracts';
import type { JournalPost } from '../../../apps/proxy-node/src/usage/settling/journal-uplink.ts';
import type { ControlPlaneWorld } from './control-plane-parts.ts';
import { openServices, type Services } from './control-plane-services.ts';
import { COMMAND_TIMEOUT_MS, Link } from './link.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedHost } from './simulated-host.ts';
import { UsageJobs } from './usage-jobs.ts';

const TAKE_EVERY_MS = 40;
const RECONCILE_EVERY_MS = 5 * 60_000;
const RECHARGE_SWEEP_MS = 10_000;

/** Is one control plane process: ingest, live records, rebuild and reconciliation as they are shipped, on the models. */
export class ControlPlane {
  readonly process: SimulatedProcess;
  readonly redisLink: Link;
  readonly postgresLink: Link;
  readonly #world: ControlPlaneWorld;
  readonly #jobs: UsageJobs;
  readonly #services: Services;

  constructor(name: string, world: ControlPlaneWorld) {
    const { scheduler, random, redis, postgres, parts, wallErrorMs } = world;
    this.#world = world;
    this.process = new SimulatedProcess(name, { scheduler, wallErrorMs });
    this.redisLink = new Link(this.process, {
      ...{ server: redis, scheduler, random },
      timeoutMs: COMMAND_TIMEOUT_MS,
    });
    this.postgresLink = new Link(this.process, { server: postgres, scheduler, random });
    this.#jobs = new UsageJobs({
      redis,
      link: this.redisLink,
      process: this.process,
      duplicates: world.duplicates,
    });
    this.#services = openServices({
      world,
      host: new SimulatedHost(this.process, random),
      redisLink: this.redisLink,
      postgresLink: this.postgresLink,
      jobs: this.#jobs,
    });
    const { lostTail, pump, epochs, closed, reconciler, recharge } = this.#services;
    void lostTail.onApplicationBootstrap();
    this.#every(TAKE_EVERY_MS, () => this.#jobs.take());
    this.#every(1_000, () => pump.sweep());
    this.#every(1_000, () => epochs.ensureAll());
    this.#every(RECHARGE_SWEEP_MS, () => recharge.sweep());
    if (parts.paysOutRests) this.#every(2_000, () => closed.look());
    this.#every(RECONCILE_EVERY_MS / 2, async () => {
      await reconciler.runAlone();
      await new Promise<void>((resolve) => this.process.after(RECONCILE_EVERY_MS / 2, resolve));
    });
  }

  kill(): void {
    this.process.kill();
    this.postgresLink.serverLost();
    this.redisLink.serverLost();
  }

  get sales(): Services['sales'] {
    return this.#services.sales;
  }

  /** Drops like `UsagePartitions`: the mark first, then the rows, in one transaction. */
  dropDays(before: string): Promise<void> {
    return this.#services.transactions.run(async (tx) => {
      await this.#services.days.drop(tx, before);
      await tx.query('DELETE FROM usage_events WHERE day < $1', [before]);
    });
  }

  /** Books like `DeadLettersService.book`, for a person who knows that it was not charged before its day was dropped. Redis is compared before: the world is at rest. */
  async bookLetter(letter: {
    rid: string;
    seq: string;
    delta: string;
    payload: string;
  }): Promise<void> {
    const final: { kind?: string; charge?: number } = JSON.parse(letter.payload);
    const isFinal = final.kind === 'usage';
    const { rid, payload } = letter;
    const number = isFinal
      ? { seq: '0', delta: String(final.charge) }
      : { seq: letter.seq, delta: letter.delta };
    const relayed = { shard: '', epoch: '', outboxId: '', rid, ...number, payload };
    const source = { fromJournal: isFinal, isConfirmed: true, isLate: true };
    await this.#services.ingest.ingest([relayed], source);
  }

  /** Takes finals over HTTP: what is under way when something breaks may still arrive, and may arrive twice. */
  async takeJournal({ body, headers }: JournalPost): Promise<{ status: number; text: string }> {
    const receipt = await this.#services.journal.take({
      node: headers[JOURNAL_HEADERS.node] ?? '',
      atMs: Number(headers[JOURNAL_HEADERS.at]),
      proof: headers[JOURNAL_HEADERS.proof] ?? '',
      body: Buffer.from(body),
    });
    return { status: 200, text: JSON.stringify(receipt) };
  }

  #every(ms: number, work: () => Promise<unknown>): void {
    const again = (): void =>
      void this.process.after(ms + this.#world.random.next(), () => {
        work().then(again, (error: unknown) => {
          // The code asks the models for what they lack; a store that is away throws other errors.
          if (error instanceof TypeError) this.#world.broken(error);
          again();
        });
      });
    again();
  }
}
