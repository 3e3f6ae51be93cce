export * from './snapshot-document.ts';
