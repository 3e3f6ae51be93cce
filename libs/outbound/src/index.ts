export * from './guarded-lookup.ts';
export { addressesOf, lookupName } from './name-lookup.ts';
