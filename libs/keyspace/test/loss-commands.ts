import fc from 'fast-check';

/** Holds what may happen to the requests of one subscription and to the Redis that holds them. `nth` is taken modulo how many there are. */
export type LossCommand =
  | { type: 'admit' | 'lose' | 'relay' | 'reap' }
  | { type: 'advance'; ms: number }
  | { type: 'checkpoint' | 'end'; nth: number; used: number }
  /** With `isDelayed`, what the node sent arrives only with a later `arrive`; with `isLost`, never. */
  | { type: 'restore'; nth: number; fate: 'arrives' | 'is_delayed' | 'is_lost' }
  | { type: 'arrive' | 'settle'; nth: number; reEmit: boolean }
  | { type: 'book'; nth: number; isAgain: boolean };

const nth = fc.nat(1_000);

const arbitraries: { weight: number; arbitrary: fc.Arbitrary<LossCommand> }[] = [
  { weight: 5, arbitrary: fc.record({ type: fc.constant('admit') }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('lose') }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('relay') }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('reap') }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('advance'),
      ms: fc.constantFrom(5_000, 30_000, 61_000, 61_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('checkpoint'), nth, used: fc.nat(150) }) },
  {
    weight: 7,
    arbitrary: fc.record({
      type: fc.constant('restore'),
      nth,
      fate: fc.constantFrom('arrives', 'arrives', 'is_delayed', 'is_lost'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('arrive'), nth, reEmit: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('end'), nth, used: fc.nat(150) }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('settle'), nth, reEmit: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('book'), nth, isAgain: fc.boolean() }) },
];
/** Restores a hold in the middle of its lease, lost or not, and looks at it when the lease it had before would be over. */
const restoredMidway: fc.Arbitrary<LossCommand[]> = nth.map((which) => [
  { type: 'advance', ms: 30_000 },
  { type: 'restore', nth: which, fate: 'arrives' },
  { type: 'advance', ms: 30_000 },
  { type: 'reap' },
  { type: 'relay' },
  { type: 'book', nth: 0, isAgain: false },
]);
const single = fc.oneof(...arbitraries).map((command) => [command]);
export const lossSequences: fc.Arbitrary<LossCommand[]> = fc
  .array(fc.oneof({ weight: 15, arbitrary: single }, { weight: 1, arbitrary: restoredMidway }), {
    minLength: 20,
    maxLength: 60,
    size: 'max',
  })
  .map((parts) => parts.flat());
