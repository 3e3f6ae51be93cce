import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { configurationReference } from './configuration-reference.ts';

writeFileSync(path.join(import.meta.dirname, '../../docs/configuration.md'), configurationReference());
