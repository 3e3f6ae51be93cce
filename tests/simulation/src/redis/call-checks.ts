import { isDeepStrictEqual } from 'node:util';
import { claimUnits, readClaims, usedUnits, type BudgetClaim } from '@tollgate/contracts';
import { Violation } from '../violation.ts';
import type { RedisData, Changes } from './redis-data.ts';
import {
  freeOf,
  SeenCall,
  type BudgetMove,
  type FunctionCall,
  type SeenHold,
} from './seen-call.ts';

/** Names functions that move tokens of a balance, or hold them. Others put what the control plane decides about a record. */
const MOVING: ReadonlySet<string> = new Set([
  ...['admit', 'checkpoint', 'restore', 'settle', 'reap', 'credit', 'withdraw'],
  ...['repeat_withdrawal', 'repeat_release', 'repeat_reap'],
]);
/** Lists those of them that name a request and its account. */
const OF_A_REQUEST: ReadonlySet<string> = new Set(
  'admit checkpoint restore settle reap'.split(' '),
);
/** A final may come again for so long. */
const MARKED_MS = 15 * 60_000;

type Rule = (call: SeenCall) => boolean;

const openAmount = (hold: SeenHold | null): number => (hold?.state === 'open' ? hold.amount : 0);
const sumOf = (call: SeenCall, seqs = ['0', '1', '2']): number =>
  call.events.filter(({ seq }) => seqs.includes(seq)).reduce((sum, { delta }) => sum + delta, 0);

/** Returns what a call added to the balance without an event: a credit, or what it repeats. */
function withoutEvent(call: SeenCall): number {
  if (!call.hasWrittenSubscription) return 0;
  if (call.name === 'credit') return Number(call.parameter(3));
  return call.name.startsWith('repeat_') ? -Number(call.parameter(3)) : 0;
}

/** Returns what a request uses of the budgets in its claims by this call: its charge, less what a reap of it has counted. */
function usedNow(call: SeenCall): {
  claims: string;
  charge: number;
  reported: number | null;
  counted: number | null;
} {
  const before = call.hold('before');
  const isKnown = before?.state === 'open' || before?.state === 'reaped';
  const isOver = call.hasWrittenSubscription && ['settle', 'reap'].includes(call.name);
  if (!isOver) return { claims: '', charge: 0, reported: null, counted: null };
  if (call.name === 'reap')
    return {
      ...{ claims: before?.claims ?? '', charge: before?.used ?? 0 },
      ...{ reported: null, counted: null },
    };
  return {
    reported: Number(call.parameter(9)),
    claims: isKnown ? before.claims : call.parameter(8),
    charge: Number(call.parameter(4)),
    counted: before?.state === 'reaped' ? before.charged : null,
  };
}

/** Returns what the call must have moved of budgets: what they hold follows the open holds, and what is used follows the charges. */
function budgetMoves(call: SeenCall): Map<string, BudgetMove> {
  const moves = new Map<string, BudgetMove>();
  const add = (claims: string, unitsOf: (claim: BudgetClaim) => BudgetMove): void => {
    // Drawn records can have one budget twice, which no control plane writes: it is counted once.
    const units = new Map(readClaims(claims).map((one) => [call.countOf(one), unitsOf(one)]));
    for (const [name, more] of units) {
      const { used, held } = moves.get(name) ?? { used: 0, held: 0 };
      moves.set(name, { used: used + more.used, held: held + more.held });
    }
  };
  for (const [when, sign] of [
    ['after', 1],
    ['before', -1],
  ] as const) {
    const hold = call.hold(when);
    if (hold?.state === 'open')
      add(hold.claims, (claim) => ({ used: 0, held: sign * claimUnits(claim, hold.amount) }));
  }
  const { claims, charge, reported, counted } = usedNow(call);
  add(claims, (claim) => ({
    used:
      usedUnits(claim, charge, reported) - (counted === null ? 0 : usedUnits(claim, counted, null)),
    held: 0,
  }));
  for (const [name, { used, held }] of moves) if (used === 0 && held === 0) moves.delete(name);
  return moves;
}

/** Holds what must hold of every call that wrote, by any caller and with any arguments. Each is false where it is broken. */
const RULES: Readonly<Record<string, Rule>> = {
  'a balance changes by its events and credits': (call) => {
    const [before, after] = [call.subscription('before'), call.subscription('after')];
    if (!call.hasWrittenSubscription || !after) return true;
    return after.balance - (before?.balance ?? 0) === withoutEvent(call) - sumOf(call);
  },
  'credits come one by one, each once': (call) => {
    const before = call.subscription('before')?.creditSeq ?? 0;
    const after = call.subscription('after')?.creditSeq ?? 0;
    if (call.name !== 'credit' || !call.hasWrittenSubscription) return after === before;
    return after === before + 1 && after === Number(call.parameter(2));
  },
  'a withdrawal takes what is free, after all credits': (call) => {
    const [before, after] = [call.subscription('before'), call.subscription('after')];
    if (call.name !== 'withdraw' || !call.hasWrittenSubscription || !before || !after) return true;
    const isFree = after.balance === before.balance - Math.max(0, freeOf(before));
    return isFree && before.creditSeq >= Number(call.parameter(6));
  },
  'what a request releases into a withdrawal leaves, and no more': (call) => {
    const [before, after] = [call.subscription('before'), call.subscription('after')];
    const hold = call.hold('before');
    if (!['settle', 'reap'].includes(call.name) || !before || !after || !hold) return true;
    if (!call.hasWrittenSubscription || !after.withdrawal || hold.hasReleased) return true;
    const free = Math.max(0, freeOf(before));
    if (call.events.some(({ seq }) => seq === '2')) return freeOf(after) === free;
    const isLeaving = after.status !== 'active' || hold.generation < after.generation;
    return !isLeaving || freeOf(after) <= free;
  },
  'a hold is within what is free when it is taken': (call) => {
    const [before, after] = [call.subscription('before'), call.subscription('after')];
    return !after || after.held <= (before?.held ?? 0) || after.held <= after.balance;
  },
  'what is held of a subscription follows its holds': (call) => {
    const [before, after] = [call.subscription('before'), call.subscription('after')];
    if (!before || !after) return true;
    const moved = openAmount(call.hold('after')) - openAmount(call.hold('before'));
    return after.held - before.held === moved;
  },
  'what is held and used of budgets follows holds and charges': (call) =>
    !OF_A_REQUEST.has(call.name) || isDeepStrictEqual(call.movedBudgets, budgetMoves(call)),
  'an open hold has a lease': (call) =>
    !['admit', 'restore'].includes(call.name) ||
    call.hold('after')?.state !== 'open' ||
    call.lease('after') !== undefined,
  'a hold is not reaped before its lease ends': (call) =>
    call.name !== 'reap' ||
    !call.hasWrittenSubscription ||
    (call.lease('before') ?? 0) <= call.nowMs(4),
  'a hold that ended is not opened again': (call) => {
    const before = call.hold('before')?.state;
    const after = call.hold('after')?.state;
    return after !== 'open' || before === undefined || before === 'open';
  },
  'nothing is admitted or withdrawn while holds are restored': (call) =>
    !['admit', 'withdraw'].includes(call.name) ||
    !call.hasWrittenSubscription ||
    call.epoch() === call.parameter(0),
  'nothing is written under an old epoch': (call) =>
    !call.hasWrittenSubscription || call.epoch().replace('restoring:', '') === call.parameter(0),
  'a settled request is charged its charge': (call) => {
    if (call.name !== 'settle' || !call.hasWrittenSubscription) return true;
    const before = call.hold('before');
    const reaped = before?.state === 'reaped' ? before.charged : 0;
    return reaped + sumOf(call, ['0', '1']) === Number(call.parameter(4));
  },
  'the marker of a request outlasts its repeated finals': (call) =>
    !call.hasWrittenSubscription ||
    !['settle', 'reap', 'repeat_release'].includes(call.name) ||
    (call.name === 'repeat_release' && call.hold('before') !== null) ||
    (call.holdExpiresMs ?? 0) >= call.clockMs + MARKED_MS,
};

/** Judges each call of a function by the records it changed. */
export class CallChecks {
  /** Holds events that were emitted since Redis last lost anything: none of them moves a balance again. */
  readonly #emitted = new Set<string>();

  /** Redis lost some of what it wrote. */
  lost(): void {
    this.#emitted.clear();
  }

  /** Notes that the marker of a request expired while Redis' clock was ahead: its final is settled again where it comes again, and the reconciliation gives that back. */
  forgot(rid: string): void {
    for (const name of this.#emitted)
      if (name.includes(` ${rid}:`) && !name.endsWith(':2')) this.#emitted.delete(name);
  }

  after(given: FunctionCall, data: RedisData, changes: Changes): void {
    const call = new SeenCall(given, data, changes);
    if (call.name === 'advance_epoch') return this.#checkEpoch(call);
    if (!MOVING.has(call.name)) return;
    for (const [rule, isKept] of Object.entries(RULES)) if (!isKept(call)) broken(rule, given);
    this.#checkOnce(call, given);
  }

  #checkEpoch(call: SeenCall): void {
    const isMoved = call.epoch('before') !== call.epoch('after');
    if (isMoved && call.epoch('before') !== call.parameter(0))
      throw new Violation(`Redis: a shard left ${call.epoch('before')} for another state`);
  }

  /** Checks by subscription the events of this call, and the one that it repeats without saying so again. */
  #checkOnce(call: SeenCall, given: FunctionCall): void {
    const names = call.events.map(({ name }) => name);
    if (call.hasWrittenSubscription && call.name === 'repeat_withdrawal')
      names.push(`${call.parameter(2)}:0`);
    if (call.hasWrittenSubscription && call.name === 'repeat_release')
      names.push(`${given.keys[2]?.split(':').at(-1)}:2`);
    for (const name of names.map((each) => `${call.subscriptionKey} ${each}`)) {
      if (call.hasWrittenSubscription && this.#emitted.has(name))
        broken('what an event says moves a balance once', given);
      this.#emitted.add(name);
    }
  }
}

function broken(rule: string, { name, parameters }: FunctionCall): never {
  throw new Violation(`Redis, ${name}(${parameters.join(', ')}) breaks a rule: ${rule}`);
}
