import '@opentelemetry/api';
export * from './otlp-tracing.ts';
export * from '../../money/src/index.ts';
