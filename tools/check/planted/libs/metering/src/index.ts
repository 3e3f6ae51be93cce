export * from '../../protocols/src/index.ts';
