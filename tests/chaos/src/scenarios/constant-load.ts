import {
  planRequests,
  sendRequest,
  type ClientRecord,
  type RequestPlan,
  type Target,
} from '@tollgate/audit';
import { until, letPass } from '@tollgate/harness';
import type { Scene } from '../scene.ts';

const PLANS_AT_ONCE = 1_000;
const PAUSE_AFTER_FAILURE_MS = 50;
const CLIENTS = 12;

export interface LoadSettings {
  seed: number;
  clients?: number;
  /** Is the index of the only node that is asked; all unless given. */
  onlyAddress?: number;
  /** Is asked instead of the nodes themselves. */
  origin?: string | undefined;
  /** Is the pause of a client between two requests. */
  pauseMs?: number;
}

/** Runs clients of a scene that continue until they are stopped, and records everything. */
export class ConstantLoad {
  readonly records: ClientRecord[] = [];
  readonly #scene: Scene;
  readonly #settings: LoadSettings;
  readonly #clients: Promise<void>[];
  #isOver = false;

  constructor(scene: Scene, settings: LoadSettings) {
    this.#scene = scene;
    this.#settings = settings;
    const plans = this.#plans();
    this.#clients = Array.from({ length: settings.clients ?? CLIENTS }, () => this.#drive(plans));
  }

  count(ending: ClientRecord['ending']): number {
    return this.records.filter((record) => record.ending === ending).length;
  }

  /** Resolves when so many more requests have completed; throws when they do not within the limit. */
  async untilCompleted(more: number, limitMs = 60_000): Promise<void> {
    const wanted = this.count('completed') + more;
    await until(
      `${more} more completed requests`,
      () => this.count('completed') >= wanted,
      limitMs,
    ).catch((error: unknown) => {
      throw new Error(describeEndings(this.records), { cause: error });
    });
  }

  /** Resolves when the last running request has ended. */
  async stop(): Promise<ClientRecord[]> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.records;
  }

  *#plans(): Generator<RequestPlan> {
    for (let part = 0; ; part += 1)
      yield* planRequests(PLANS_AT_ONCE, this.#settings.seed + part, this.#scene.choices);
  }

  async #drive(plans: Generator<RequestPlan>): Promise<void> {
    const { pauseMs = 0 } = this.#settings;
    // This is not `for of`: a client that leaves its loop would close the plans for all.
    while (!this.#isOver) {
      const plan = plans.next().value as RequestPlan;
      const record = await sendRequest(plan, this.#targetOf(plan));
      this.records.push(record);
      const hasFailed =
        record.ending === 'refused' || record.ending === 'broken' || record.ending === 'unreached';
      if (hasFailed || pauseMs > 0)
        await letPass(
          hasFailed ? PAUSE_AFTER_FAILURE_MS : pauseMs,
          'a client pauses between requests',
        );
    }
  }

  #targetOf(plan: RequestPlan): Target {
    const { onlyAddress = plan.address, origin } = this.#settings;
    const target = this.#scene.targetOf({ ...plan, address: onlyAddress });
    return { ...target, origin: origin ?? target.origin };
  }
}

export function describeEndings(records: readonly ClientRecord[]): string {
  return Object.entries(Object.groupBy(records, ({ ending }) => ending))
    .map(
      ([ending, list]) => `${(list?.length ?? 0).toLocaleString('en')} ${ending.replace('_', ' ')}`,
    )
    .join(', ');
}
