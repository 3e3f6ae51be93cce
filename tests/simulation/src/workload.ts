import { NO_USAGE, WEIGHT_FIELDS, type TokenUsage } from '@tollgate/contracts';
import { premiumWeights, type TierWeights } from '@tollgate/metering';
import type { PriceVersion } from '@tollgate/snapshot';
import type { ChargedPrice } from '../../../apps/proxy-node/src/journal/open-hold.ts';
import { MODEL_ID, PREMIUMS } from './postgres/first-rows.ts';
import type { Random } from './random.ts';
import type { DrawnPrice, World } from './world.ts';

const ARRIVALS_EVERY_MS = 220;
const ADMIN_EVERY_MS = 3_000;

/** Starts requests and what administrators and customers do, until `untilMs` of the run. */
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

/** Draws plain tokens often, else some of every class that a prompt has. */
function drawPrompt(random: Random): TokenUsage {
  const input = random.integer(1, 400);
  if (random.chance(0.5)) return { ...NO_USAGE, input };
  const part = (): number => random.integer(0, 100);
  return {
    ...NO_USAGE,
    input,
    ...{ cacheRead: part(), cacheWrite: part(), cacheWrite1h: part(), audioInput: part() },
  };
}

/** Prices like the pipeline a request that asks for these dearer services. */
export function chargedPrice(
  { multipliers = {}, ...plain }: PriceVersion,
  premiums: string[],
): ChargedPrice {
  if (premiums.length === 0) return plain;
  return { ...plain, ...premiumWeights(plain, multipliers, premiums), premiums };
}

function ask(world: World): void {
  const random = world.random('requests');
  const subscription = random.pick(world.subscriptions);
  const node = random.pick(world.nodes);
  const parts = {
    accountId: subscription.accountId,
    keyHash: subscription.keyHash,
    modelId: MODEL_ID,
    price: chargedPrice(
      world.currentPrice,
      PREMIUMS.filter(() => random.chance(0.2)),
    ),
    prompt: drawPrompt(random),
    output: random.integer(1, 600),
    isStream: random.chance(0.7),
    isHungUp: random.chance(0.15),
  };
  if (node?.isServing) void node.serve(parts);
}

/** Every class has a weight, and every dearer service a multiplier, of its own; some prices have tiers within the lengths of prompts. */
function drawPrice(random: Random): DrawnPrice {
  const drawn = (): number => random.integer(1, 30) * 100_000;
  const weights = () =>
    Object.fromEntries(WEIGHT_FIELDS.map((name) => [name, drawn()])) as TierWeights;
  const tiers = [100, 300].map((above) => ({
    above_prompt_tokens: above + random.integer(0, 150),
    weights: weights(),
  }));
  const multipliers = Object.fromEntries(
    PREMIUMS.map((premium) => [premium, random.integer(5, 40) * 110_000]),
  );
  const perMillion = random.integer(1_000_000, 6_000_000);
  return { ...weights(), multipliers, perMillion, ...(random.chance(0.5) && { tiers }) };
}

/** Sets a price while customers buy: who comes first pays the one before, and who waited for its lock the new one. */
function changePrice(world: World): Promise<unknown> {
  const set = world.setPrice(drawPrice(world.random('acts')));
  const random = world.random('purchases');
  const buyers = world.subscriptions.filter(() => random.chance(0.5));
  const sales = world.someControlPlane?.sales;
  return Promise.all([set, ...buyers.map((one) => sales?.buy(one, random.integer(200, 3_000)))]);
}

function administer(world: World): void {
  const random = world.random('acts');
  const subscription = random.pick(world.subscriptions);
  const kind = random.pick(['buy', 'buy', 'buy', 'unsubscribe', 'price'] as const);
  const tokens = random.integer(200, 30_000);
  const drain = random.chance(0.5);
  const sales = world.someControlPlane?.sales;
  const done = {
    price: () => changePrice(world),
    buy: () => sales?.buy(subscription, tokens),
    unsubscribe: () => sales?.unsubscribe(subscription, drain),
  }[kind]();
  // The error is a refusal, or a store that is away.
  done?.catch((error: unknown) => void (error instanceof TypeError && (world.failure ??= error)));
}
