import { Violation } from './violation.ts';
import { MODEL_ID, priceInForce } from './postgres/first-rows.ts';
import { LiveView } from './redis/live-view.ts';
import type { World } from './world.ts';

/** Nothing is on its way any more, and what is looked for once a minute was looked for. */
export function isQuiet(world: World): boolean {
  return restlessness(world).length === 0;
}

function restlessness(world: World): string[] {
  const { rows } = world.postgres;
  const nodes = world.nodes.flatMap((node, index) =>
    node?.isIdle ? [] : [`worker ${index}: ${JSON.stringify(node?.state ?? 'does not run')}`],
  );
  const live = new LiveView(world.redis);
  const outboxes = world.redis.names.flatMap((shard) => [
    ...(live.waitingEvents(shard) > 0 ? [`outbox ${shard}: ${live.waitingEvents(shard)}`] : []),
    ...live.openHolds(shard).map(({ rid }) => `hold ${rid}`),
    ...live
      .reapedHolds(shard)
      .filter((rid) => !world.truth.isCharged(rid))
      .map((rid) => `the reap of ${rid} is not booked`),
  ]);
  return [
    ...nodes,
    ...outboxes,
    ...(world.redis.queue.jobs.length > 0 ? [`jobs: ${world.redis.queue.jobs.length}`] : []),
    ...rows.outbox.committed().map(({ kind, target_id: id }) => `promised ${kind} ${id}`),
    ...driftsOf(world),
    ...unservedNeeds(world),
    ...rows.subscriptions
      .committed()
      .filter(
        (row) =>
          row.status === 'closing' ||
          (row.status === 'closed' && row.balance > Math.max(0, row.overdraft)),
      )
      .map(({ id, status, balance }) => `subscription ${id} is ${status} with ${balance} tokens`),
  ];
}

/** Checks what must hold once nothing is on its way any more. */
export function checkEnd(world: World, dismissed: ReadonlySet<string>): void {
  const restless = restlessness(world);
  if (restless.length > 0)
    throw new Violation(`it does not come to rest: ${restless.slice(0, 5).join('; ')}`);
  checkLetters(world);
  for (const [rid, request] of world.truth.requests) {
    const booked = world.truth.bookedFor(rid);
    if (
      request.hasClientSeenEnd &&
      request.charge !== booked &&
      !request.excuse &&
      !dismissed.has(rid)
    )
      throw new Violation(
        `${rid}: its client saw the end, it costs ${request.charge} tokens and was charged ${booked}`,
      );
  }
  checkSetAside(world);
}

function checkLetters(world: World): void {
  const letters = world.postgres.rows.letters.committed();
  const unexplained = letters.find(({ rid, seq, reason }) => {
    if (reason.startsWith('forged:')) return !world.forged.has(rid);
    return !reason.includes('were dropped') && !isWithdrawalAgain(world, { rid, seq });
  });
  if (unexplained)
    throw new Violation(`${unexplained.rid} became a dead letter: ${unexplained.reason}`);
}

/** The row of a withdrawal went with its day. Its entry in the token ledger refuses it when it is sent again. */
function isWithdrawalAgain(world: World, event: { rid: string; seq: string }): boolean {
  const reference = `withdrawal:${event.rid}:${event.seq}`;
  const entries = world.postgres.rows.entries.committed();
  return world.struck.has('drop-days') && entries.some((entry) => entry.reference === reference);
}

/** A final that cannot be read any more is booked, or its file is kept. */
function checkSetAside(world: World): void {
  for (const { disk } of world.machines)
    if (disk.removedDamaged !== null)
      throw new Violation(`${disk.removedDamaged} could not be read and was removed`);
  for (const [rid, machine] of world.damaged) {
    const request = world.truth.requests.get(rid);
    const isBooked = request && world.truth.bookedFor(rid) === request.charge;
    const isKept = [...(world.machines[machine]?.disk.files.keys() ?? [])].some((path) =>
      path.includes('.set-aside.'),
    );
    if (!isBooked && !isKept) throw new Violation(`${rid} could not be read and its file is gone`);
  }
}

/** Returns subscriptions at or below their threshold whose wallet pays for more tokens. */
function unservedNeeds(world: World): string[] {
  const { subscriptions, accounts } = world.postgres.rows;
  const wallets = new Map(accounts.committed().map((row) => [row.user_id, row.balance]));
  const { postgres } = world;
  const perMillion = priceInForce(postgres, postgres.nowMs);
  return subscriptions.committed().flatMap((row) => {
    const amount = row.auto_recharge_amount ?? 0;
    const isNeed =
      row.status === 'active' &&
      amount > 0 &&
      row.balance - row.overdraft <= (row.auto_recharge_threshold ?? 0);
    const cost = (BigInt(amount) * perMillion + 999_999n) / 1_000_000n;
    return isNeed && (wallets.get(row.user_id) ?? 0n) >= cost
      ? [`subscription ${row.id} has ${row.balance} tokens and buys none`]
      : [];
  });
}

/** Returns subscriptions of which Redis has other tokens than the books. */
function driftsOf(world: World): string[] {
  return world.postgres.rows.subscriptions.committed().flatMap((row) => {
    const live = new LiveView(world.redis).subscription(row.user_id, MODEL_ID);
    if (live?.balance === row.balance - row.overdraft) return [];
    return `subscription ${row.id}: Redis has ${live?.balance} tokens, the books say ${row.balance} less ${row.overdraft}`;
  });
}
