import type { TracesSettings } from './settings.ts';
import type { TracedService, Tracing } from './tracing.ts';

/** Returns null while tracing is off: the SDK is loaded only when it is on. */
export async function openTracing(
  settings: TracesSettings,
  service: TracedService,
  onFailure: (error: Error) => void,
): Promise<Tracing | null> {
  const { TRACES_URL: url } = settings;
  if (url === undefined) return null;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  return new OtlpTracing({ ...settings, TRACES_URL: url }, service, onFailure);
}
