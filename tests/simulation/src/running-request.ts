import { tokenFieldsOf, type TokenUsage, type UsageFinal } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { OpenHold } from '../../../apps/proxy-node/src/journal/open-hold.ts';
import { outcomeOfStop } from '../../../apps/proxy-node/src/pipeline/answers/stop-reason.ts';
import type { HoldHandle } from '../../../apps/proxy-node/src/usage/usage-recorder.ts';
import type { Ask, NodeWorld } from './node-parts.ts';
import type { SimulatedProcess } from './process.ts';
import type { TrueRequest } from './truth.ts';
import { Violation } from './violation.ts';

interface RunningParts {
  ask: Ask;
  startedAt: { unixMs: number; monotonicMs: number };
  node: { readonly process: SimulatedProcess; readonly address: string };
  world: NodeWorld;
}

/** Is a request from its admission to its end, with the upstream and the client at its two sides. */
export class RunningRequest {
  readonly #hold: OpenHold;
  readonly #parts: RunningParts;
  readonly #truth: TrueRequest;
  #output = 0;
  #isEnded = false;

  constructor(hold: OpenHold, parts: RunningParts) {
    this.#hold = hold;
    this.#parts = parts;
    this.#truth = parts.world.truth.admitted(hold);
  }

  run(handle: HoldHandle): void {
    handle.onStop((reason) => this.#end(handle, outcomeOfStop(reason)));
    this.#truth.delivered = chargeOf(this.#usage(), this.#hold.price);
    if (this.#parts.ask.isStream) handle.count(() => this.#usage());
    this.#next(handle);
  }

  #usage(): TokenUsage {
    return { ...this.#parts.ask.prompt, output: this.#output };
  }

  #next(handle: HoldHandle): void {
    const { ask, node, world } = this.#parts;
    const pieces = ask.isStream ? 12 : 1;
    node.process.after(
      world.random.integer(5, ask.isStream ? 900 : 2_500),
      () => {
        if (this.#isEnded) return;
        const piece = Math.max(1, Math.ceil(ask.output / pieces));
        const next = Math.min(ask.output, this.#output + piece);
        const wanted = { ...ask.prompt, output: next };
        if (ask.isStream && handle.room(wanted) < 0 && !handle.isBoundHeld(this.#usage()))
          return handle.grow(() => this.#next(handle));
        this.#output = next;
        this.#truth.delivered = chargeOf(this.#usage(), this.#hold.price);
        if (this.#output >= ask.output) return this.#end(handle, 'completed');
        if (ask.isHungUp && world.random.chance(0.3)) return this.#end(handle, 'client_closed');
        this.#next(handle);
      },
      'upstream',
    );
  }

  /** The client gets the end of its answer only once the final is written down. */
  #end(handle: HoldHandle, outcome: UsageFinal['outcome']): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const final = this.#final(outcome);
    this.#truth.delivered = Math.max(this.#truth.delivered, final.charge);
    this.#truth.charge = final.charge;
    this.#truth.node = this.#parts.node.address;
    handle.settle(final, () => {
      this.#truth.hasClientSeenEnd = true;
      this.#checkWritten();
      this.#truth.endedAtMs = this.#parts.world.scheduler.nowMs;
    });
  }

  #checkWritten(): void {
    const { world } = this.#parts;
    const { rid } = this.#hold;
    if (!world.isOnDisk(rid) && !world.truth.isCharged(rid))
      world.broken(new Violation(`the client of ${rid} saw the end before its final was written`));
  }

  #final(outcome: UsageFinal['outcome']): UsageFinal {
    const { node, world, startedAt } = this.#parts;
    const hold = this.#hold;
    return {
      kind: 'usage',
      account_id: hold.accountId,
      key_id: hold.keyId,
      subscription_id: hold.subscriptionId,
      model_id: hold.modelId,
      price_version_id: hold.price.id,
      node: node.address,
      protocol: hold.protocol,
      is_stream: hold.isStream,
      upstream_id: 1,
      attempts: [],
      outcome,
      status: 200,
      ...tokenFieldsOf(this.#usage()),
      charge: chargeOf(this.#usage(), hold.price),
      ...(hold.price.premiums && { premiums: hold.price.premiums }),
      basis: 'reported',
      started_at: hold.startedAtMs,
      first_token_ms: null,
      duration_ms: world.parts.durationMs(node.process, startedAt),
    };
  }
}
