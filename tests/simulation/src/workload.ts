import { MODEL_ID } from './postgres/first-rows.ts';
import type { World } from './world.ts';

const ARRIVALS_EVERY_MS = 220;
const ADMIN_EVERY_MS = 6_000;

/** Requests and what administrators and customers do, until `untilMs` of the run. */
export function startWorkload(world: World, untilMs: number): void {
  const endMs = world.startMs + untilMs;
  const every = (ms: number, purpose: string, act: () => void): void => {
    const random = world.random(purpose);
    const again = (): void =>
      void world.scheduler.after(ms * (0.3 + 1.4 * random.next()), purpose, () => {
        if (world.scheduler.nowMs > endMs) return;
        act();
        again();
      });
    again();
  };
  every(ARRIVALS_EVERY_MS, 'arrival', () => ask(world));
  every(ADMIN_EVERY_MS, 'administration', () => administer(world));
}

function ask(world: World): void {
  const random = world.random('requests');
  const subscription = random.pick(world.subscriptions);
  const node = random.pick(world.nodes);
  const parts = {
    accountId: subscription.accountId,
    keyHash: subscription.keyHash,
    modelId: MODEL_ID,
    price: world.currentPrice,
    input: random.integer(1, 400),
    output: random.integer(1, 600),
    isStream: random.chance(0.7),
    isHungUp: random.chance(0.15),
  };
  if (node?.isServing) void node.serve(parts);
}

function administer(world: World): void {
  const random = world.random('acts');
  const { id } = random.pick(world.subscriptions);
  const kind = random.pick(['buy', 'buy', 'buy', 'unsubscribe', 'price'] as const);
  const tokens = random.integer(200, 30_000);
  const drain = random.chance(0.5);
  const weights = [random.integer(1, 20) * 100_000, random.integer(1, 30) * 100_000] as const;
  if (kind === 'price') return world.addPrice(...weights);
  const controlPlane = world.someControlPlane;
  const done =
    kind === 'buy' ? controlPlane?.buy(id, tokens) : controlPlane?.startWithdrawal(id, drain);
  done?.catch(() => undefined);
}
