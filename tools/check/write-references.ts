import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { apiReference } from './api-reference.ts';
import { configurationReference } from './configuration-reference.ts';
import { errorReference } from './error-reference.ts';
import { withFolderCharts } from './folder-chart.ts';

const docs = path.join(import.meta.dirname, '../../docs');
writeFileSync(path.join(docs, 'configuration.md'), configurationReference());
writeFileSync(path.join(docs, 'api-reference.md'), apiReference());
writeFileSync(path.join(docs, 'errors.md'), errorReference());
const architecture = path.join(docs, 'architecture.md');
writeFileSync(architecture, withFolderCharts(readFileSync(architecture, 'utf8')));
