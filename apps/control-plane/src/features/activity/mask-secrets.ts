const MASK = '[masked]';

/** Names match exactly: `token` is a secret, `tokens` is a balance. */
const SECRET_NAMES = new Set(
  [
    'password',
    'password_hash',
    'current_password',
    'new_password',
    'api_key',
    'sealed_api_key',
    'key',
    'key_hash',
    'token',
    'secret',
    'credential',
    'credential_hash',
    'authorization',
    'cookie',
  ].flatMap((name) => [
    name,
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  ]),
);

/** Copies a value and masks every secret in it. All values of `headers` are masked, because any header may carry a secret. */
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, maskField(name, inner)]),
  );
}

function maskField(name: string, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (SECRET_NAMES.has(name)) return MASK;
  if (name === 'headers' && typeof value === 'object')
    return Object.fromEntries(Object.keys(value).map((header) => [header, MASK]));
  return maskSecrets(value);
}
