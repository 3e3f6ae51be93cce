export * from '../../metering/src/index.ts';
