import { readFileSync } from 'node:fs';

/**
 * Returns the addresses and credentials that `npm start` writes.
 * @returns {{ baseUrl: string, apiKey: string, chatModel: string, user: { username: string, password: string } }}
 */
export function readStartFile() {
  const file = process.env['TOLLGATE_START'] ?? '.tollgate/start.json';
  return JSON.parse(readFileSync(file, 'utf8'));
}
