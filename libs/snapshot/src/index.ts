export * from './billing-on-close.ts';
export * from './canonical-json.ts';
export * from './compile-snapshot.ts';
export * from './diff-snapshots.ts';
export * from './find-problems.ts';
export * from './published-snapshot.ts';
export * from './routing-rows.ts';
export * from './snapshot-document.ts';
