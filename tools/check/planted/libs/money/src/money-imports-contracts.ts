export * from '../../contracts/src/index.ts';
