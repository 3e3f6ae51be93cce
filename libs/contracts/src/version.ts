import { createRequire } from 'node:module';
import { z } from 'zod';

const manifest: unknown = createRequire(import.meta.url)('../package.json');

/** Is the release of this product, for reports, documents and `--version`. Every package has the same version. */
export const VERSION = z.object({ version: z.string() }).parse(manifest).version;
