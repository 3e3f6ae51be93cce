export * from './api-key.ts';
export * from './fleet.ts';
export * from './journal-upload.ts';
export * from './node-proof.ts';
export * from './outbound-address.ts';
export * from './sealed-secret.ts';
export * from './token-usage.ts';
export * from './usage-event.ts';
