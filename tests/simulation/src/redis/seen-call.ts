import type { BudgetClaim } from '@tollgate/contracts';
import { keys, type FunctionName } from '../../../../libs/keyspace/test/past-the-stores.ts';
import { unpackMessage } from './message-pack.ts';
import type { Changes, RedisData, Value } from './redis-data.ts';

export interface FunctionCall {
  name: FunctionName;
  keys: readonly string[];
  parameters: readonly (string | number)[];
}

export interface SeenSubscription {
  status: string;
  balance: number;
  held: number;
  creditSeq: number;
  withdrawal: string | null;
  generation: number;
}
export interface SeenHold {
  state: string;
  amount: number;
  used: number;
  charged: number;
  /** Holds its claims on budgets, as `readClaims` reads them. */
  claims: string;
  /** Is true when an event said what the call released into a withdrawal. */
  hasReleased: boolean;
  generation: number;
}
/** Holds units of a budget. */
export interface BudgetMove {
  used: number;
  held: number;
}
export interface SeenEvent {
  /** Names the event as `rid:seq`. */
  name: string;
  seq: string;
  delta: number;
}

const NOTHING: BudgetMove = { used: 0, held: 0 };
/** Is the place of the claims in a packed hold: `pack_hold` of holds.lua. */
const CLAIMS_AT = 16;
/** Is the place of the account among the arguments of calls that move tokens of a request. */
const ACCOUNT_AT = 2;

/** Counts the tokens that no hold has a claim to. */
export function freeOf({ balance, held }: SeenSubscription): number {
  return balance - Math.max(0, held);
}

/** Is a call of a function: the records it names, before and after it. */
export class SeenCall {
  readonly name: FunctionName;
  readonly #call: FunctionCall;
  readonly #data: RedisData;
  readonly #changes: Changes;

  constructor(call: FunctionCall, data: RedisData, changes: Changes) {
    this.name = call.name;
    this.#call = call;
    this.#data = data;
    this.#changes = changes;
  }

  parameter(at: number): string {
    return String(this.#call.parameters[at] ?? '');
  }

  /** Returns the time that the call went by: tests give it, else it is the store's. */
  nowMs(at: number): number {
    return Number(this.parameter(at)) || this.#data.nowMs;
  }

  get clockMs(): number {
    return this.#data.nowMs;
  }

  epoch(when: 'before' | 'after' = 'after'): string {
    return String(this.#value(this.#call.keys[0], when) ?? '');
  }

  /** Returns null where the call names no subscription or none is there. */
  subscription(when: 'before' | 'after'): SeenSubscription | null {
    const record = this.#value(this.subscriptionKey, when);
    if (!(record instanceof Map) || !record.has('bal')) return null;
    const number = (field: string): number => Number(record.get(field) ?? 0);
    return {
      status: String(record.get('st')),
      balance: number('bal'),
      held: number('held'),
      creditSeq: number('cseq'),
      withdrawal: (record.get('wd') as string | undefined) ?? null,
      generation: number('gen'),
    };
  }

  get subscriptionKey(): string | undefined {
    return this.#keyLike(keys.subscriptionPrefix);
  }

  get hasWrittenSubscription(): boolean {
    return this.#changes.has(this.subscriptionKey ?? '');
  }

  hold(when: 'before' | 'after'): SeenHold | null {
    const packed = this.#value(this.#holdKey, when);
    if (typeof packed !== 'string') return null;
    const values = unpackMessage(packed);
    const [state, , , amount, used, charged, , , released, , generation] = values;
    return {
      state: String(state),
      amount: Number(amount ?? 0),
      used: Number(used ?? 0),
      charged: Number(charged ?? 0),
      claims: (values[CLAIMS_AT] as string | undefined) ?? '',
      hasReleased: released !== undefined,
      generation: Number(generation ?? 0),
    };
  }

  /** Returns by how much the call moved what is used and held of each budget, in the hash that counts it. */
  get movedBudgets(): Map<string, BudgetMove> {
    const moved = new Map<string, BudgetMove>();
    const prefix = keys.budgetsPrefix(this.#shard ?? '');
    for (const place of this.#changes.keys()) {
      if (!place.startsWith(prefix)) continue;
      const [before, after] = [this.#countsIn(place, 'before'), this.#countsIn(place, 'after')];
      for (const name of new Set([...before.keys(), ...after.keys()])) {
        const [from, to] = [before.get(name) ?? NOTHING, after.get(name) ?? NOTHING];
        // The use of a value in periods that are over is forgotten.
        if (!after.has(name) && from.held === 0) continue;
        const move = { used: to.used - from.used, held: to.held - from.held };
        if (move.used !== 0 || move.held !== 0) moved.set(`${place} ${name}`, move);
      }
    }
    return moved;
  }

  /** Names the hash and the field that count a claim. */
  countOf({ budgetId, period, value }: BudgetClaim): string {
    const account = keys.budgetsPrefix(this.#shard ?? '') + this.parameter(ACCOUNT_AT);
    return `${value === '' ? account : `${account}:${value}`} ${budgetId}:${period}`;
  }

  #countsIn(place: string, when: 'before' | 'after'): Map<string, BudgetMove> {
    const hash = this.#value(place, when);
    const counts = new Map<string, BudgetMove>();
    for (const [name, written] of hash instanceof Map ? hash : []) {
      if (typeof written !== 'string') continue;
      const [used = 0, held = 0] = written.split(',').map(Number);
      counts.set(name, { used, held });
    }
    return counts;
  }

  get #shard(): string | undefined {
    return /\{(s\d+)\}/.exec(this.#call.keys[0] ?? '')?.[1];
  }

  /** Is the time until which the hold is kept; undefined where there is none. */
  get holdExpiresMs(): number | undefined {
    return this.#holdKey === undefined ? undefined : this.#data.expiryOf(this.#holdKey);
  }

  /** Returns the Unix ms at which the lease of the hold ends; undefined without one. */
  lease(when: 'before' | 'after'): number | undefined {
    const rid = this.#holdKey?.split(':').at(-1) ?? '';
    const leases = this.#value(
      this.#call.keys.find((key) => key.endsWith(':holds')),
      when,
    );
    return leases instanceof Map ? (leases as Map<string, number>).get(rid) : undefined;
  }

  /** Lists the events that the call put into the outbox. */
  get events(): SeenEvent[] {
    const outbox = this.#call.keys.find((key) => key.endsWith(':outbox'));
    if (outbox === undefined || !this.#changes.has(outbox)) return [];
    const before = new Set(entriesOf(this.#value(outbox, 'before')).map(({ id }) => id));
    return entriesOf(this.#value(outbox, 'after'))
      .filter(({ id }) => !before.has(id))
      .map(({ fields: [, rid = '', , seq = '', , delta = ''] }) => ({
        name: `${rid}:${seq}`,
        seq,
        delta: Number(delta),
      }));
  }

  get #holdKey(): string | undefined {
    return this.#keyLike(keys.holdPrefix);
  }

  #keyLike(prefixOf: (shard: string) => string): string | undefined {
    const shard = this.#shard;
    return shard && this.#call.keys.find((key) => key.startsWith(prefixOf(shard)));
  }

  #value(key: string | undefined, when: 'before' | 'after'): Value | undefined {
    if (key === undefined) return undefined;
    if (when === 'before' && this.#changes.has(key)) return this.#changes.get(key)?.value;
    return this.#data.valueOf(key);
  }
}

function entriesOf(value: Value | undefined): { id: string; fields: readonly string[] }[] {
  return typeof value === 'object' && 'entries' in value && Array.isArray(value.entries)
    ? value.entries
    : [];
}
