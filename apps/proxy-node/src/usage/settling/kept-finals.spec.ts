import { expect, test } from '@jest/globals';
import { FinalState } from './final-step.ts';
import { KeptFinals } from './kept-finals.ts';

const KEPT_MS = 15_000;
/** More than the list holds before its passed part is dropped. */
const MANY = 5_000;

function keptSince(atMs: number): FinalState {
  return Object.assign(new FinalState({ acknowledgedAtMs: atMs }), { stage: 'kept' });
}

test('each final is forgotten once, in its order, when its time is over and not before', () => {
  const kept = new KeptFinals(KEPT_MS);
  const added = Array.from({ length: MANY }, (_, index) => keptSince(index));
  const forgotten: unknown[] = [];
  const forget = (final: unknown): void => void forgotten.push(final);
  for (const final of added.slice(0, -3)) kept.add(final);
  kept.forgetDue(KEPT_MS - 1, forget);
  expect(forgotten).toEqual([]);
  kept.forgetDue(KEPT_MS + MANY, forget);
  for (const final of added.slice(-3)) kept.add(final);
  kept.forgetDue(KEPT_MS + MANY - 2, forget);
  expect(forgotten.length).toBe(MANY - 1);
  kept.forgetDue(KEPT_MS + MANY, forget);
  expect(forgotten.length).toBe(MANY);
  expect(forgotten.every((final, index) => final === added[index])).toBe(true);
});

test('one that is settled again meanwhile is not forgotten at its old place', () => {
  const kept = new KeptFinals<FinalState>(KEPT_MS);
  const final = keptSince(0);
  kept.add(final);
  final.stage = 'ready';
  const forgotten: unknown[] = [];
  kept.forgetDue(KEPT_MS, (one) => void forgotten.push(one));
  expect(forgotten).toEqual([]);
});
