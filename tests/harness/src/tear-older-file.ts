import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Tears an append-only file of a stopped Redis that is not the one that was written last, as a machine that loses its power during a rewrite can leave
 * them. `dataFolder` is the server's.
 */
export function tearOlderFile(dataFolder: string): void {
  const folder = path.join(dataFolder, 'appendonlydir');
  const manifest = path.join(folder, 'appendonly.aof.manifest');
  const older = readdirSync(folder).find((name) => name.endsWith('.incr.aof')) ?? '';
  const [, number = ''] = /\.(\d+)\.incr\.aof$/.exec(older) ?? [];
  if (!readFileSync(manifest, 'utf8').includes(older)) throw new Error(`${older} is not in use`);
  const newer = older.replace(`.${number}.incr`, `.${Number(number) + 1}.incr`);
  writeFileSync(path.join(folder, newer), '*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n');
  appendFileSync(manifest, `file ${newer} seq ${Number(number) + 1} type i\n`);
  appendFileSync(path.join(folder, older), '*3\r\n$3\r\nSET\r\n$1\r\na');
}
