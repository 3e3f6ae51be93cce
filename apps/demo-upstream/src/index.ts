export { MODES, type Mode } from './plan.ts';
export { ProviderRecord, type RecordEntry } from './record.ts';
export { createDemoUpstream } from './server.ts';
export { wordAt, wordsUpTo } from './words.ts';
