/**
 * Returns a provider's signature of its thinking as a client of Gemini takes it: `thoughtSignature` is bytes, which such clients decode and encode again, in either
 * alphabet of base64 (https://protobuf.dev/programming-guides/json/#json-representation). Signatures of other providers are texts.
 */
export function toThoughtSignature(signature: string): string {
  return Buffer.from(signature).toString('base64');
}

/** Returns the text that `toThoughtSignature` was given; null for anything else, such as a signature of Gemini's own. */
export function signatureOf(thoughtSignature: unknown): string | null {
  if (typeof thoughtSignature !== 'string') return null;
  const signature = Buffer.from(thoughtSignature, 'base64').toString();
  return /^[\x21-\x7e]+$/.test(signature) ? signature : null;
}
