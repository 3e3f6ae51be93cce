const MICROS = 1_000_000n;

/** `tokens` at a price per million, exact to a millionth, rounded up as a purchase is. For display before the server decides. */
export function costOf(tokens: number, perMillion: string): string {
  const micros = toMicros(perMillion) * BigInt(tokens);
  const cost = (micros + MICROS - 1n) / MICROS;
  const whole = cost / MICROS;
  const fraction = String(cost % MICROS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/** How many tokens an amount buys; undefined for what is no amount, or where tokens cost nothing. */
export function tokensFor(amount: string, perMillion: string): number | undefined {
  if (!/^\d{1,12}(\.\d{0,6})?$/.test(amount)) return undefined;
  const price = toMicros(perMillion);
  if (price === 0n) return undefined;
  const tokens = (toMicros(amount) * MICROS) / price;
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(tokens);
}

function toMicros(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * MICROS + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}
