import { writeFileSync } from 'node:fs';
import { describeApi } from './describe-api.ts';

/** `node dist/write-openapi.js <file>` writes the API document. `npm run generate` calls it. */
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('write-openapi <file>');
writeFileSync(file, `${JSON.stringify(await describeApi(), null, 2)}\n`);
