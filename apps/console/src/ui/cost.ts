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

function toMicros(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * MICROS + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}
