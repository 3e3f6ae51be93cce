export * from '../../money/src/index.ts';
