import type { DataSource } from 'typeorm';

/** Whether the account has a key with this hash, whatever its status. */
export async function isKeyOf(
  source: Pick<DataSource, 'query'>,
  { keyHash, userId }: { keyHash: string; userId: number },
): Promise<boolean> {
  const known: unknown[] = await source.query(
    'SELECT 1 FROM api_keys WHERE key_hash = $1 AND user_id = $2',
    [keyHash, userId],
  );
  return known.length > 0;
}
