export * from './admin-client.ts';
export type { components, paths } from './__generated__/admin-api.ts';
