import {
  chargeFor,
  isExhausted,
  premiumsOf,
  tokensReported,
  type ClientRecord,
  type DemoRecord,
  type UsageRow,
} from '@tollgate/audit';

type ProviderEntry = DemoRecord[number];

export interface Tally {
  sent: number;
  endings: Record<string, number>;
  /** Counts refusals by their status. */
  refused: Record<number, number>;
  /** Counts completed requests whose report the upstream still knows, compared to the token. */
  compared: number;
  exact: number;
  /** Counts the compared ones that had images, were made in the background, or were charged by a multiplier. */
  of: { images: number; background: number; premium: number };
  /** Counts charged tokens by the upstream's reports; `bookedTokens` counts them by the books. */
  reportedTokens: number;
  bookedTokens: number;
  overTokens: number;
  underTokens: number;
  underRequests: number;
  /** Counts tokens that were delivered and not charged, of requests whose node was killed under them. */
  lostTokens: number;
  missing: number;
}

/** Sums over the completed requests: what the upstream reported against what left the balance. */
export function tally({
  clients,
  provider,
  usage,
}: {
  clients: readonly ClientRecord[];
  provider: readonly ProviderEntry[];
  usage: ReadonlyMap<string, UsageRow>;
}): Tally {
  const reports = new Map(
    provider.flatMap(({ rid, reported }) => (reported ? [[rid, reported] as const] : [])),
  );
  const sums: Tally = {
    sent: clients.length,
    endings: {},
    refused: {},
    compared: 0,
    exact: 0,
    of: { images: 0, background: 0, premium: 0 },
    reportedTokens: 0,
    bookedTokens: 0,
    overTokens: 0,
    underTokens: 0,
    underRequests: 0,
    lostTokens: 0,
    missing: 0,
  };
  for (const client of clients) {
    sums.endings[client.ending] = (sums.endings[client.ending] ?? 0) + 1;
    if (client.ending === 'refused' && client.status !== null)
      sums.refused[client.status] = (sums.refused[client.status] ?? 0) + 1;
    sums.lostTokens += lostOf(client, usage.get(client.rid ?? ''));
    if (client.ending === 'completed' && !isExhausted(usage.get(client.rid ?? '')))
      addCompleted(sums, {
        plan: client.plan,
        row: usage.get(client.rid ?? ''),
        reported: reports.get(client.rid ?? ''),
      });
  }
  return sums;
}

interface Completed {
  plan: ClientRecord['plan'];
  row: UsageRow | undefined;
  reported: ProviderEntry['reported'] | undefined;
}

function addCompleted(sums: Tally, { plan, row, reported }: Completed): void {
  if (!row) sums.missing += 1;
  if (!row || !reported) return;
  const expected = chargeFor({ ...row, premiums: premiumsOf(plan) }, tokensReported(reported));
  sums.compared += 1;
  if (plan.images > 0) sums.of.images += 1;
  if (plan.protocol === 'responses') sums.of.background += 1;
  if (plan.isPremium) sums.of.premium += 1;
  sums.reportedTokens += expected;
  sums.bookedTokens += row.delta;
  sums.overTokens += Math.max(0, row.delta - expected);
  sums.underTokens += Math.max(0, expected - row.delta);
  if (row.delta === expected) sums.exact += 1;
  else if (row.delta < expected) sums.underRequests += 1;
}

/** A request that completed is compared by its report instead. */
function lostOf(
  { ending, plan, deliveredTokens }: ClientRecord,
  row: UsageRow | undefined,
): number {
  if (!row || (ending !== 'broken' && ending !== 'hung_up')) return 0;
  const asked = { ...row, premiums: premiumsOf(plan) };
  return Math.max(0, chargeFor(asked, { output_tokens: deliveredTokens }) - row.delta);
}

export function describeTally(sums: Tally): string {
  const count = (value: number): string => value.toLocaleString('en');
  const share = sums.reportedTokens === 0 ? 0 : (100 * sums.underTokens) / sums.reportedTokens;
  return [
    `  requests sent            ${count(sums.sent)} (${Object.entries(sums.endings)
      .map(([ending, n]) => `${count(n)} ${ending.replace('_', ' ')}`)
      .join(', ')})`,
    `  refused by status        ${Object.entries(sums.refused)
      .map(([status, n]) => `${status}: ${count(n)}`)
      .join(', ')}`,
    `  completed, compared      ${count(sums.compared)}, exact ${count(sums.exact)} (${count(sums.of.images)} with images, ${count(sums.of.background)} in the background, ${count(sums.of.premium)} with a multiplier)`,
    `  tokens reported          ${count(sums.reportedTokens)}`,
    `  tokens booked            ${count(sums.bookedTokens)}`,
    `  overcharged              ${count(sums.overTokens)}`,
    `  missing requests         ${count(sums.missing)}`,
    `  undercounted             ${count(sums.underTokens)} in ${count(sums.underRequests)} requests (${share.toFixed(4)} %)`,
    `  lost with killed nodes   ${count(sums.lostTokens)}`,
  ].join('\n');
}
