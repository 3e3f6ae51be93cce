export * from './finished-span.ts';
export * from './open-tracing.ts';
export * from './settings.ts';
export * from './trace.ts';
export * from './tracing.ts';
