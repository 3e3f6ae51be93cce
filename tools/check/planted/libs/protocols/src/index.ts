import 'node:fs';
export * from '../../keyspace/src/index.ts';
