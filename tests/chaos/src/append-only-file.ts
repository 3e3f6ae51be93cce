import { readdirSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';

const INCREMENT = /\.(\d+)\.incr\.aof$/;

/** `folder` is the server's `appendonlydir`; the server must be down. Cuts the file that Redis wrote last: only there a torn end can be repaired. */
export function truncateAppendOnlyFile(folder: string, bytes: number): void {
  const newest = readdirSync(folder)
    .flatMap((file) => {
      const number = INCREMENT.exec(file)?.[1];
      return number === undefined ? [] : [{ file: path.join(folder, file), number }];
    })
    .toSorted((a, b) => Number(a.number) - Number(b.number))
    .at(-1);
  if (newest) truncateSync(newest.file, Math.max(0, statSync(newest.file).size - bytes));
}
