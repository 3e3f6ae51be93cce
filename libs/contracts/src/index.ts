export * from './api-key.ts';
export * from './fleet.ts';
export * from './token-usage.ts';
export * from './usage-event.ts';
