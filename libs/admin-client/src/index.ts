export * from './admin-client.ts';
export * from './__generated__/tables.ts';
export type { components, paths } from './__generated__/admin-api.ts';
