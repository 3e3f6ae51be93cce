const MICROS = 1_000_000n;

/** Returns the cost of `tokens` at a price per million, exact to a millionth and rounded up as a purchase is. It is for display before the server decides. */
export function costOf(tokens: number, perMillion: string): string {
  const micros = toMicros(perMillion) * BigInt(tokens);
  return amountOf((micros + MICROS - 1n) / MICROS);
}

function amountOf(micros: bigint): string {
  const fraction = String(micros % MICROS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(micros / MICROS) : `${micros / MICROS}.${fraction}`;
}

function toMicros(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * MICROS + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/** Returns an amount times a factor, rounded half up to a millionth, as an amount is written. */
export function timesFactor(amount: string, factor: string): string {
  const micros = (toMicros(amount) * toMicros(factor) + MICROS / 2n) / MICROS;
  return amountOf(micros);
}
