export * from '../../snapshot/src/index.ts';
