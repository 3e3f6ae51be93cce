import assert from 'node:assert/strict';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import type { AdmitReply } from '../src/index.ts';
import { checkpoint, refOf } from './tenant-acts.ts';
import { openAccount, openWorld, request, type Tenant, type World } from './world.ts';

const LIMIT = 100_000;
const MINUTE_S = 60;
const MINUTES = 8;
const PROMPT = 200;
/** The node estimates the prompt at more than what is reported. */
const ESTIMATE = 230;
/** Is a tenth of the output limit of the requests. */
const OUTPUT = 400;
const OUTPUT_LIMIT = 4_000;
const CALLERS = 60;
const ANSWER_S = 10;
const REPORTS = 5;
/** Callers come back at the time that a refusal names, and up to so much later. */
const JITTER_MS = 200;

let services: Services;
let world: World;
beforeAll(async () => {
  services = await startServices({ postgres: false });
  world = await openWorld(services.redisUrl);
});
afterAll(async () => {
  world?.close();
  await services?.stop();
});

/** Simulates callers of one key on a clock of their own, which ask again as soon as they are answered or may. */
class Callers {
  readonly tenant: Tenant;
  readonly startMs: number;
  /** Counts tokens in the second in which they were sent or made. */
  readonly tokens: number[] = [];
  mostRunning = 0;
  refused = 0;
  #running = 0;
  #state = 7;
  readonly #due: { atMs: number; act: () => Promise<void> }[] = [];

  constructor(tenant: Tenant) {
    this.tenant = tenant;
    this.startMs = tenant.clock.now;
  }

  async run(untilMs: number): Promise<void> {
    for (;;) {
      const next = this.#due.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (!next || next.atMs > untilMs) return;
      this.#due.splice(this.#due.indexOf(next), 1);
      this.tenant.clock.now = next.atMs;
      await next.act();
    }
  }

  /** Adds a caller that asks for the same again and again from a random moment of the first second on. */
  add(): void {
    this.#at(this.startMs + this.#below(1_000), () => this.#ask());
  }

  at(atMs: number, act: () => Promise<void>): void {
    this.#at(atMs, act);
  }

  async ask(prompt: number): Promise<AdmitReply & { rid: string }> {
    const sizes = { promptTokens: prompt, promptTokensMax: prompt, wantTokens: OUTPUT_LIMIT };
    const asked = request(this.tenant, sizes);
    return { ...(await this.tenant.store.admit(asked)), rid: asked.rid };
  }

  again(retryAfterMs: number, act: () => Promise<void>): void {
    this.#at(this.tenant.clock.now + retryAfterMs + this.#below(JITTER_MS), act);
  }

  count(tokens: number): void {
    const second = Math.floor((this.tenant.clock.now - this.startMs) / 1_000);
    this.tokens[second] = (this.tokens[second] ?? 0) + tokens;
  }

  async #ask(): Promise<void> {
    const reply = await this.ask(ESTIMATE);
    if (reply.kind !== 'admitted') {
      assert.ok(reply.kind === 'rate_limited', reply.kind);
      this.refused += 1;
      return this.again(reply.retryAfterMs, () => this.#ask());
    }
    this.#running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.#running);
    this.count(PROMPT);
    const startedMs = this.tenant.clock.now;
    for (let nth = 1; nth <= REPORTS; nth += 1)
      this.#at(startedMs + (nth * ANSWER_S * 1_000) / (REPORTS + 1), () =>
        this.#report(reply.rid, (nth * OUTPUT) / REPORTS),
      );
    this.#at(startedMs + ANSWER_S * 1_000, () => this.#end(reply.rid));
  }

  async #report(rid: string, outputTokens: number): Promise<void> {
    this.count(OUTPUT / REPORTS);
    const changes = { usedTokens: 1, outputTokens };
    assert.equal((await checkpoint(this.tenant, rid, changes)).kind, 'ok');
  }

  async #end(rid: string): Promise<void> {
    const all = PROMPT + OUTPUT;
    const ratedTokens = { all, uncached: all };
    const final = { chargeTokens: all, payload: '{}', reEmit: false, ratedTokens };
    await this.tenant.store.settle({ ...refOf(this.tenant, rid), ...final });
    this.#running -= 1;
    this.again(0, () => this.#ask());
  }

  #at(atMs: number, act: () => Promise<void>): void {
    this.#due.push({ atMs, act });
  }

  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 4_294_967_296) * limit);
  }
}

async function saturated(): Promise<Callers> {
  const tenant = await world.tenant();
  await openAccount(tenant, { tpm: LIMIT, tokens: 1_000_000_000 });
  const callers = new Callers(tenant);
  for (let nth = 0; nth < CALLERS; nth += 1) callers.add();
  return callers;
}

test('of 100,000 tokens a minute at least 95 % are used by answers of a tenth of their limits, and no minute has more than the bound', async () => {
  const callers = await saturated();
  await callers.run(callers.startMs + MINUTES * MINUTE_S * 1_000);
  const perSecond = Array.from(
    { length: MINUTES * MINUTE_S },
    (_, second) => callers.tokens[second] ?? 0,
  );
  const minutes = perSecond
    .slice(0, -MINUTE_S + 1)
    .map((_, from) => perSecond.slice(from, from + MINUTE_S).reduce((sum, n) => sum + n, 0));
  const used = perSecond.slice(MINUTE_S).reduce((sum, n) => sum + n, 0);
  expect(callers.refused).toBeGreaterThan(100);
  expect(used / (LIMIT * (MINUTES - 1))).toBeGreaterThanOrEqual(0.95);
  expect(Math.max(...minutes)).toBeLessThanOrEqual(LIMIT + PROMPT + callers.mostRunning * OUTPUT);
}, 120_000);

test('a prompt of 60 % of the limit is served within two windows beside small ones', async () => {
  const callers = await saturated();
  const waits: number[] = [];
  const large = 0.6 * LIMIT;
  for (let nth = 0; nth < 5; nth += 1) {
    const firstMs = callers.startMs + (1 + 2 * nth) * MINUTE_S * 1_000 + nth * 137;
    const ask = async (): Promise<void> => {
      const reply = await callers.ask(large);
      if (reply.kind === 'rate_limited') return callers.again(reply.retryAfterMs, ask);
      assert.equal(reply.kind, 'admitted');
      waits.push(callers.tenant.clock.now - firstMs);
    };
    callers.at(firstMs, ask);
  }
  await callers.run(callers.startMs + 13 * MINUTE_S * 1_000);
  expect(waits.length).toBe(5);
  expect(Math.max(...waits)).toBeLessThanOrEqual(2 * MINUTE_S * 1_000);
}, 120_000);
