import type { FundsHint } from '@tollgate/contracts';
import type { AdmitReply, AdmitRequest, MeteringStore } from '@tollgate/keyspace';
import { ClientGone } from '../../../apps/proxy-node/src/http/read-body.ts';
import type { RechargeWaits } from '../../../apps/proxy-node/src/pipeline/admission/recharge-waits.ts';
import { Refusal } from '../../../apps/proxy-node/src/refusals.ts';
import type { NodeWorld } from './node-parts.ts';
import { COMMAND_TIMEOUT_MS } from './link.ts';
import type { SimulatedProcess } from './process.ts';
import { previewOf } from './redis/redis-client.ts';
import { Violation } from './violation.ts';

/** Allows for a call that was under way as the wait ended, and the last one, with answers that take as long as is waited for them. */
const LAST_CALLS_MS = 2 * (COMMAND_TIMEOUT_MS + 500);
/** Is the time between the last answer and the refusal that rests on it. */
const JUST_NOW_MS = 10;

interface FundsParts {
  client: Pick<MeteringStore, 'admit'>;
  waits: RechargeWaits;
  hint: (hint: FundsHint) => void;
  world: NodeWorld;
  process: SimulatedProcess;
  waitMs: number;
}

/** Takes a hold as `Admitter` does: a request for which a purchase of auto-recharge is due waits for it. */
export class Funds {
  readonly #parts: FundsParts;

  constructor(parts: FundsParts) {
    this.#parts = parts;
  }

  /** Null when there is no answer, the client left, or the wait brought no tokens. */
  async ask(request: AdmitRequest): Promise<AdmitReply | null> {
    const { client, hint } = this.#parts;
    const need = {
      accountId: request.accountId,
      modelId: request.modelId,
      neededTokens: request.minTokens,
    };
    const reply = await client.admit(request).catch(() => null);
    if (reply?.kind === 'recharge_due') return this.#waited(request, need);
    if (reply?.kind === 'balance_too_low' || reply?.kind === 'tokens_held') hint(need);
    return reply;
  }

  async #waited(request: AdmitRequest, need: FundsHint): Promise<AdmitReply | null> {
    const { client, waits, world, waitMs, process } = this.#parts;
    const { nowMs: startedMs } = world.scheduler;
    const { stalledMs } = process;
    let answeredMs = startedMs;
    const again = async (): Promise<AdmitReply | null | undefined> => {
      const reply = await client.admit(request).catch(() => null);
      answeredMs = world.scheduler.nowMs;
      return reply?.kind === 'recharge_due' ? undefined : reply;
    };
    const ended = await waits.until(need, this.#someClient(), again).catch((error: unknown) => {
      if (error instanceof ClientGone) return null;
      if (error instanceof Refusal) return 'full' as const;
      throw error;
    });
    const waitedMs = world.scheduler.nowMs - startedMs - (process.stalledMs - stalledMs);
    if (waitedMs > waitMs + LAST_CALLS_MS)
      this.#broken(`${request.rid} waited ${waitedMs} ms for a purchase`);
    world.truth.waited(ended === undefined ? 'refused' : 'answered');
    if (ended === undefined && world.scheduler.nowMs - answeredMs > JUST_NOW_MS)
      await this.#checkRefusal(request);
    return ended === undefined || ended === 'full' ? null : ended;
  }

  /** Checks a refusal that no answer of this moment says: were there tokens? */
  async #checkRefusal(request: AdmitRequest): Promise<void> {
    const { redis } = this.#parts.world;
    if (redis.isUp && (await previewOf(redis).admit(request)).kind === 'admitted')
      this.#broken(`${request.rid} was refused after its wait, and Redis had what it waited for`);
  }

  #broken(what: string): void {
    this.#parts.world.broken(new Violation(what));
  }

  /** Some do not wait until the end. */
  #someClient(): { readonly isGone: boolean; onGone: (act: () => void) => void } {
    const { world, process } = this.#parts;
    const client = { isGone: false, onGone: (_act: () => void): void => undefined };
    if (!world.random.chance(0.1)) return client;
    let left = (): void => undefined;
    client.onGone = (act) => void (left = act);
    const leave = (): void => {
      client.isGone = true;
      left();
    };
    process.after(world.random.integer(1, 2_500), leave, 'client leaves');
    return client;
  }
}
